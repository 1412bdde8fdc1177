"""What ai-pod shows may grow; it shrinks only where somebody says so in the manifest."""

from tests.mapping.manifest import COMMAND, kept, pairs, shown


def told(lines: set[str], what: str) -> str:
    listed = "\n".join(f"  {line}" for line in sorted(lines))
    return f"{len(lines)} (type, property) of ai-pod {what}:\n{listed}\nif that is meant: {COMMAND}"


def test_nothing_that_ai_pod_showed_is_gone() -> None:
    gone = kept() - shown()
    assert not gone, told(gone, "are no longer shown")


def test_whatever_ai_pod_shows_stands_in_the_manifest() -> None:
    # What does not stand there could vanish again unnoticed.
    new = shown() - kept()
    assert not new, told(new, "are not in the manifest yet")


def test_the_manifest_is_as_rich_as_promised() -> None:
    assert len({line.split(" ")[0] for line in kept()}) >= 60
    assert len(kept()) > 1000


def test_pairs_look_into_objects_and_arrays() -> None:
    document = {
        "@odata.type": "#Port.v1_18_0.Port",
        "Links": {"ConnectedPorts": [{"@odata.id": "/redfish/v1"}]},
        "Slots": [{"Lanes": 4}],
    }
    assert pairs([document]) == {
        "Port Links", "Port Links.ConnectedPorts", "Port Slots", "Port Slots.Lanes"
    }  # fmt: skip
