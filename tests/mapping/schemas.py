"""The packs' JSON schemas as one jsonschema validator per @odata.type; an oracle for tests only."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012


class SchemaPack:
    """Schemas by file name. Unversioned files name every version ever; only those here count."""

    def __init__(self, pack: Path) -> None:
        self.files: dict[str, Any] = {}
        with tarfile.open(pack) as archive:
            for member in archive.getmembers():
                name = member.name.rsplit("/", 1)[-1]
                stream = archive.extractfile(member) if name.endswith(".json") else None
                if stream is not None:
                    self.files[name] = json.load(stream)
        self.registry: Registry[Any] = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]

    def _retrieve(self, uri: str) -> Resource[Any]:
        name = uri.split("#", 1)[0].rsplit("/", 1)[-1]
        return Resource.from_contents(self._cut(self.files[name]), DRAFT202012)

    def _cut(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._cut(each) for each in value if not self._absent(each)]
        if isinstance(value, dict):
            return {name: self._cut(each) for name, each in value.items()}
        return value

    def _absent(self, value: Any) -> bool:
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("http"):
            return False
        return reference.split("#", 1)[0].rsplit("/", 1)[-1] not in self.files

    def errors(self, document: dict[str, Any]) -> list[str]:
        """Return what the schema of the document's type says against it."""
        kind = document["@odata.type"].lstrip("#")
        name = ".".join(kind.split(".")[:-1]) + ".json"
        validator = _validator(self, name, kind.rsplit(".", 1)[-1])
        return [
            f"{document['@odata.id']} {each.json_path}: {each.message[:200]}"
            for each in validator.iter_errors(document)
        ]


@cache
def _validator(pack: SchemaPack, name: str, type_name: str) -> Draft202012Validator:
    uri = pack.files[name].get("$id", f"http://redfish.dmtf.org/schemas/v1/{name}")
    schema = {"$ref": f"{uri}#/definitions/{type_name}"}
    return Draft202012Validator(schema, registry=pack.registry)
