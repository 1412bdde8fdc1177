"""Taking reference packs apart: with tarfile's data filter where this Python has it (3.11.4)."""

import tarfile
from typing import Any

SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""What TarFile.extract and extractall are told; older ones take the packs, which are ours to read."""
