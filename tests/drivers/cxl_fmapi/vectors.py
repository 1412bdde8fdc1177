"""The captured request and answer pairs of two switches, read where the reference packs lie."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FRAMES = "opencis-tcp"
PACKETS = "jrl-mctp-tcp"


@dataclass(frozen=True)
class Vector:
    """One pair: frames as on the wire, and what whoever captured it read in them."""

    index: int
    name: str
    opcode: int
    tag: int
    peer: str
    transport: str
    request: bytes
    response: bytes
    return_code: int
    background: bool
    response_opcode: int
    payload: bytes
    events: tuple[tuple[int, bytes, bytes], ...]


@cache
def read(shared: Path) -> tuple[Vector, ...]:
    """Return every pair of fixtures/fmapi-vectors.json."""
    text = (shared / "fixtures" / "fmapi-vectors.json").read_text(encoding="utf-8")
    return tuple(_vector(index, row) for index, row in enumerate(json.loads(text)))


def _vector(index: int, row: dict[str, Any]) -> Vector:
    return Vector(
        index,
        row["name"],
        int(row["opcode"], 16),
        row["tag"],
        row["peer"],
        row["transport"],
        bytes.fromhex(row["request_frame"]),
        bytes.fromhex(row["response_frame"]),
        row["return_code"],
        bool(row["bo"]),
        int(row["rsp_opcode"], 16),
        bytes.fromhex(row["payload"]),
        tuple(
            (int(each["opcode"], 16), bytes.fromhex(each["payload"]), bytes.fromhex(each["frame"]))
            for each in row["events"]
        ),
    )
