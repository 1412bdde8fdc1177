"""What belongs to an account goes with it: its subscriptions, in the same change.

Pure. Redfish: ManagerAccount.v1_14_1, EventDestination.v1_16_0. Who made a subscription is kept by
user name, so a name must never bring what somebody else had under it: the subscriptions of a
deleted account end, those of a renamed one follow it, and a new name begins with none.
"""

from dataclasses import replace

import msgspec

from redfish_fm.mapping import accounts
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import stored
from redfish_fm.mapping.subscription_values import decode_kept, encode_kept
from redfish_fm.mapping.subscriptions import ended, is_stream
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import Write


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Accounts."""
    draft = accounts.create(write, tip)
    return _and(draft, _ended(str(write.body["UserName"]), tip))


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on an account."""
    before = stored(tip, write.uri).get("UserName")
    draft = accounts.patch(write, tip)
    after = write.body.get("UserName")
    if after is None or after == before:
        return draft
    return _and(draft, (*_ended(after, tip), *_handed_over(str(before), after, tip)))


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE; 409 for the last Administrator."""
    user_name = stored(tip, write.uri).get("UserName")
    return _and(accounts.delete(write, tip), _ended(str(user_name), tip))


def _and(draft: Draft, edits: tuple[Edit, ...]) -> Draft:
    return replace(draft, edits=(*draft.edits, *edits)) if edits else draft


def _ended(user_name: str, tip: Tip) -> tuple[Edit, ...]:
    """Return the edits by which everything that a user has subscribed to ends."""
    return tuple(edit for uri in _of(user_name, tip) for edit in ended(uri, tip).edits)


def _handed_over(before: str, after: str, tip: Tip) -> tuple[Edit, ...]:
    """Return the edits by which subscriptions follow a new name; streams end, as sessions do."""
    edits: list[Edit] = []
    for uri in _of(before, tip):
        if is_stream(uri, tip.wanted(uri)):
            edits += ended(uri, tip).edits
            continue
        raw = tip.secret(uri)
        kept = msgspec.structs.replace(decode_kept(raw), owner=after)
        edits.append(Edit(Space.SECRET, uri, raw, encode_kept(kept)))
    return tuple(edits)


def _of(user_name: str, tip: Tip) -> list[str]:
    members = tip.members(SUBSCRIPTIONS)
    return [uri for uri in members if decode_kept(tip.secret(uri)).owner == user_name]
