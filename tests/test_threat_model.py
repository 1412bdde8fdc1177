"""The threat model names real tests, speaks of every room, and says what stops each threat."""

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def model(repository: Path) -> str:
    return (repository / "docs" / "THREAT_MODEL.md").read_text("utf-8")


def test_every_test_that_is_named_exists(repository: Path, model: str) -> None:
    named = re.findall(r"`([\w/]+\.py):(\w+)`", model)
    assert len(named) > 40
    missing = []
    for file, name in named:
        path = repository / "tests" / file
        text = path.read_text("utf-8") if path.exists() else ""
        if re.search(rf"^(async )?def {name}\(", text, re.MULTILINE) is None:
            missing.append(f"{file}:{name}")
    assert missing == []


def test_every_room_has_its_part(repository: Path, model: str) -> None:
    package = repository / "redfish_fm"
    rooms = {each.parent.name for each in package.glob("*/__init__.py")} - {"testing"}
    headings = " ".join(re.findall(r"^## (.+)$", model, re.MULTILINE))
    assert rooms - set(re.findall(r"\w+", headings)) == set()


def test_every_threat_has_an_answer_and_a_test(model: str) -> None:
    rows = [line for line in model.splitlines() if line.startswith("| ")]
    threats = [row for row in rows if not row.startswith("| threat |")]
    assert len(threats) > 30
    for row in threats:
        threat, answer, shown = (cell.strip() for cell in row.strip("|").split(" | "))
        assert threat and answer
        assert "test_" in shown, threat


def test_the_policy_leads_to_the_model(repository: Path) -> None:
    policy = (repository / "SECURITY.md").read_text("utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", policy)
    assert "docs/THREAT_MODEL.md" in targets
    assert [each for each in targets if not (repository / each).exists()] == []
