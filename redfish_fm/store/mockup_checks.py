"""What is wrong with a mockup's documents, each and together. Pure; reports all, changes nothing.

Knows @odata.id, @odata.count and Members; no type of Redfish and no rule of fabrics.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.store.mockup_parse import Defect, DefectKind, escaped, objects, resolve

ROOT = "/redfish/v1"
_COUNT = "@odata.count"
_NEXT_LINK = "@odata.nextLink"


@dataclass(frozen=True, slots=True)
class Documents:
    """What the checks look at: documents by URI, the file of each, URIs that other files serve."""

    documents: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, str]
    others: Collection[str]


def check_documents(tree: Documents) -> Iterator[Defect]:
    """Yield all defects, in the order of the documents and, inside one, of its objects."""
    owners: dict[str, str] = {}
    if ROOT not in tree.documents:
        text = "the service root has no document"
        yield _defect(DefectKind.DANGLING, "index.json", "", text)
    for uri, document in tree.documents.items():
        file = tree.files[uri]
        yield from _identity(uri, file, document, owners)
        yield from _id(tree, uri)
        for pointer, value in objects(document):
            yield from _counts(file, pointer, value)
            yield from _repeated_members(file, pointer, value)
            if pointer:
                yield from _reference(tree, file, pointer, value)


def _identity(
    uri: str, file: str, document: Mapping[str, Any], owners: dict[str, str]
) -> Iterator[Defect]:
    claimed = document.get("@odata.id")
    if claimed is None:
        yield _defect(DefectKind.MISSING_ID, file, "", "no @odata.id")
        return
    pointer = "/@odata.id"
    if not isinstance(claimed, str):
        yield _defect(DefectKind.WRONG_ID, file, pointer, "@odata.id is not a string")
        return
    if not _is_ours(claimed):
        yield _defect(DefectKind.FOREIGN_PREFIX, file, pointer, f"{claimed} is not below {ROOT}")
    elif _trimmed(claimed) != uri:
        yield _defect(DefectKind.WRONG_ID, file, pointer, f"{claimed} stands in the place of {uri}")
    first = owners.setdefault(_trimmed(claimed), file)
    if first != file:
        yield _defect(DefectKind.DUPLICATE_ID, file, pointer, f"{claimed} is also that of {first}")


def _id(tree: Documents, uri: str) -> Iterator[Defect]:
    """A member's URI is that of its collection and its Id; single resources are called anything."""
    collection, _, name = uri.rpartition("/")
    id_ = tree.documents[uri].get("Id", name)
    if isinstance(tree.documents.get(collection, {}).get("Members"), list) and id_ != name:
        text = f"Id is {id_!r}, the URI ends in {name!r}"
        yield _defect(DefectKind.OTHER_ID, tree.files[uri], "/Id", text)


def _counts(file: str, pointer: str, value: Mapping[str, Any]) -> Iterator[Defect]:
    for name in value:
        if name.endswith(_COUNT) and name != _COUNT:
            text = _count_fault(value, name)
            if text is not None:
                yield _defect(DefectKind.COUNT, file, f"{pointer}/{escaped(name)}", text)
    if not pointer and isinstance(value.get("Members"), list) and f"Members{_COUNT}" not in value:
        yield _defect(DefectKind.COUNT, file, "/Members", f"no Members{_COUNT}")


def _count_fault(value: Mapping[str, Any], name: str) -> str | None:
    count, counted = value[name], name.removesuffix(_COUNT)
    if not isinstance(count, int) or isinstance(count, bool):
        return f"{name} is {count!r}, not an integer"
    elements = value.get(counted)
    partial = counted + _NEXT_LINK in value
    if isinstance(elements, list) and len(elements) != count and not partial:
        return f"{name} is {count}, but there are {len(elements)}"
    return None


def _repeated_members(file: str, pointer: str, value: Mapping[str, Any]) -> Iterator[Defect]:
    members = value.get("Members")
    if pointer or not isinstance(members, list):
        return
    seen: set[str] = set()
    for index, member in enumerate(members):
        target = member.get("@odata.id") if isinstance(member, dict) else None
        if not isinstance(target, str):
            yield _defect(DefectKind.MISSING_ID, file, f"/Members/{index}", "a member without URI")
        elif _trimmed(target) in seen:
            text = f"{target} is a member already"
            yield _defect(DefectKind.DUPLICATE_ID, file, f"/Members/{index}", text)
        else:
            seen.add(_trimmed(target))


def _reference(
    tree: Documents, file: str, pointer: str, value: Mapping[str, Any]
) -> Iterator[Defect]:
    if "@odata.id" not in value:
        return
    target, pointer = value["@odata.id"], f"{pointer}/@odata.id"
    if not isinstance(target, str):
        yield _defect(DefectKind.WRONG_ID, file, pointer, "@odata.id is not a string")
    elif not _is_ours(target):
        yield _defect(DefectKind.FOREIGN_PREFIX, file, pointer, f"{target} is not below {ROOT}")
    elif not _leads_somewhere(tree, target):
        yield _defect(DefectKind.DANGLING, file, pointer, f"{target} does not exist")


def _leads_somewhere(tree: Documents, target: str) -> bool:
    place, _, fragment = target.partition("#")
    uri = _trimmed(place)
    document = tree.documents.get(uri)
    if document is None:
        return uri in tree.others and not fragment
    return resolve(document, fragment)


def _is_ours(target: str) -> bool:
    return target == ROOT or target.startswith((f"{ROOT}/", f"{ROOT}#"))


def _trimmed(uri: str) -> str:
    return uri.rstrip("/")


def _defect(kind: DefectKind, file: str, pointer: str, text: str) -> Defect:
    return Defect(kind, file, pointer, None, None, text)
