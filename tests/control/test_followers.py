"""Who is told of published batches: those whom one of its edits concerns, in their order."""

import pytest

from redfish_fm.control.followers import Followers
from redfish_fm.redfish.changes import Change, Edit, Space


def change(seq: int, *places: tuple[Space, str]) -> Change:
    edits = tuple(Edit(space, key, None, b"{}") for space, key in places)
    return Change(seq, 0.0, "tester", edits)


BATCH = (
    change(1, (Space.DOCUMENT, "/redfish/v1/Fabrics/CXL/Zones/1")),
    change(2, (Space.OVERLAY, "/redfish/v1/AccountService"), (Space.OPERATION, "3")),
)


class Heard:
    """Followers with a name each, and who was told."""

    def __init__(self) -> None:
        self.followers = Followers()
        self.told: list[str] = []

    def add(self, name: str, **concern: object) -> None:
        def told(changes: object) -> None:
            assert changes is BATCH
            self.told.append(name)

        self.followers.add(told, **concern)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("concern", "told"),
    [
        ({}, True),
        ({"spaces": frozenset({Space.OPERATION})}, True),
        ({"spaces": frozenset({Space.SECRET})}, False),
        ({"below": ("/redfish/v1/AccountService",)}, True),
        ({"below": ("/redfish/v1/EventService", "/redfish/v1/Fabrics/CXL/")}, True),
        ({"below": ("/redfish/v1/EventService",)}, False),
        ({"spaces": frozenset({Space.OVERLAY}), "below": ("/redfish/v1/AccountService",)}, True),
        ({"spaces": frozenset({Space.OVERLAY}), "below": ("/redfish/v1/Fabrics",)}, False),
    ],
)
def test_a_follower_is_told_of_whole_batches_with_an_edit_in_its_spaces_and_below_its_places(
    concern: dict[str, object], told: bool
) -> None:
    heard = Heard()
    heard.add("it", **concern)
    heard.followers.tell(BATCH)
    assert heard.told == ["it"] * told


def test_followers_are_told_in_the_order_in_which_they_were_added() -> None:
    heard = Heard()
    for name in "cab":
        heard.add(name)
    heard.followers.tell(BATCH)
    assert heard.told == ["c", "a", "b"]


def test_who_was_removed_is_told_nothing_and_others_still_are() -> None:
    heard: list[str] = []
    followers = Followers()

    def first(_changes: object) -> None:
        heard.append("first")

    def second(_changes: object) -> None:
        heard.append("second")

    followers.add(first)
    followers.add(second)
    followers.remove(first)
    followers.tell(BATCH)
    assert heard == ["second"]
    with pytest.raises(ValueError, match="follows nothing"):
        followers.remove(first)
