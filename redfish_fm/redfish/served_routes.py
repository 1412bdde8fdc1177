"""Which routes a service really takes: those of what is there, and of what can come to be there.

Pure. redfish.routes has what this service can do for each type; here it is cut down to what some
resource takes. A template that no resource fits is no route, and neither is an action that none
of them names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.routes import Route, Routes
from redfish_fm.redfish.targets import READING, Offer


class Served(Protocol):
    """Whoever knows all that is served."""

    @property
    def edition(self) -> int:
        """Another number whenever what is served rests on something else than before."""
        ...

    def places(self) -> list[str]:
        """Return every URI that is served, and that what can come would have below it."""
        ...


OfferOf = Callable[[str], Offer | None]
"""Gives what the resource at a URI takes, or None where none is."""


def by_template(catalog: Catalog, uris: Iterable[str]) -> dict[str, list[str]]:
    """Return `uris` (no trailing slash) by the template that they fit.

    What stands where no schema places it is a template of its own.
    """
    found: dict[str, list[str]] = {}
    for uri in uris:
        found.setdefault(catalog.template_of(uri) or uri, []).append(uri)
    return found


def served_routes(
    catalog: Catalog, places: Mapping[str, Iterable[str]], at: OfferOf, of_member: OfferOf
) -> list[Route]:
    """Return the routes of a service that has `places`, by_template; sorted by URI.

    `at` is asked what is taken at a place, and `of_member` what will be taken by whatever comes
    to a collection. A place where nothing is will be read once something is.
    """
    return sorted(_Gathering(catalog, at, of_member).of(places), key=lambda route: route.uri)


class _Gathering:
    """Collects what is taken, template by template, by all that fits each."""

    def __init__(self, catalog: Catalog, at: OfferOf, of_member: OfferOf) -> None:
        self._catalog = catalog
        self._routes = Routes(catalog)
        self._at = at
        self._of_member = of_member
        self._taken: dict[str, Offer] = {}

    def of(self, places: Mapping[str, Iterable[str]]) -> Iterator[Route]:
        """Yield the routes. Looks no further where nothing more can be found: many are alike."""
        for template, uris in places.items():
            if self._is_collection(template):
                # What its members will take is most often all that they can.
                self._look(template, next(iter(uris)))
        for template in sorted(places, key=lambda each: each.count("/"), reverse=True):
            for uri in places[template]:
                if self._is_full(template):
                    break
                self._look(template, uri)
        for template, offer in self._taken.items():
            yield from self._cut(template, offer)

    def _is_collection(self, template: str) -> bool:
        info = self._catalog.type_of(template)
        return info is not None and info.collection

    def _look(self, template: str, uri: str) -> None:
        """Take in what one place takes, and what its members to be will."""
        offer, placed = self._at(uri), self._catalog.type_of(uri)
        if offer is not None:
            coming = self._of_member(uri) if offer.info.collection else None
        elif placed is not None:
            offer = Offer(placed, READING)
            member = self._catalog.types.get(str(placed.member))
            coming = None if member is None else Offer(member, READING)
        else:
            return
        self._take(template, offer)
        if coming is not None:
            for below in _members(template, coming.info):
                self._take(below, coming)

    def _take(self, template: str, offer: Offer) -> None:
        known = self._taken.get(template, offer)
        methods = frozenset((*known.methods, *offer.methods))
        self._taken[template] = Offer(known.info, tuple(methods), known.actions | offer.actions)

    def _is_full(self, template: str) -> bool:
        """Whether nothing more can be found at a template, and at that of its members."""
        taken = self._taken.get(template)
        if taken is None or list(self._cut(template, taken)) != self._all(template, taken.info):
            return False
        member = self._catalog.types.get(str(taken.info.member))
        return member is None or all(map(self._is_full, _members(template, member)))

    def _all(self, template: str, info: TypeInfo) -> list[Route]:
        return list(self._routes.at(template, info))

    def _cut(self, template: str, offer: Offer) -> Iterator[Route]:
        """Yield what of all that can be at a template is taken there."""
        for route in self._all(template, offer.info):
            if route.action is None:
                methods = tuple(each for each in route.methods if each in offer.methods)
                yield replace(route, methods=methods)
            elif route.action.path in offer.actions:
                yield route


def _members(template: str, member: TypeInfo) -> list[str]:
    """Return the templates of members of a collection at `template`."""
    below = (*member.uris, *member.uris_deprecated)
    return [each for each in below if each.rpartition("/")[0] == template]
