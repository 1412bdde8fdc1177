"""What becomes of each keyword of the published JSON schemas. A table, and the words we add.

Our files are JSON Schema, draft 2020-12. Beside its own keywords they use:

keyword               at                what
x-version, x-release  file              newest version ("v1_6_3") and its release ("2025.4")
x-owner               file              who maintains the schema ("DMTF")
x-schema, x-csdl      file              where the owner publishes it
x-versions            file              {"v1_6": {"release": "2020.3", "errata": [0, 1, 2, 3]}}
x-resources           file              the resource types in it, each with odata_type, uris,
                                        uris_deprecated, insertable, updatable, deletable; member
                                        (type of the members) makes it a resource collection
x-added               property, type    version that brought it
x-deprecated          property, type    version that deprecated it (absent where unknown)
x-enum-added          enumeration       value -> version that brought it
x-enum-deprecated     enumeration       value -> version that deprecated it, or true
x-required-on-create  resource          properties that a create body must have
x-units               property          unit of the value, UCUM
x-contained           link              what it leads to is subordinate, not merely related
x-auto-expand         link              the resource itself stands in place of a link
x-uri-segment         link              last URI segment of the target where it differs
x-excerpt             type, property    excerpts that hold it; ["T"] at the type is its own name
x-excerpt-copy        property          it is a copy of that excerpt ("SensorCurrentExcerpt")
x-excerpt-copy-only   property          only in copies
x-request, x-response action            its body and answer: {"$ref": …}

`$defs` of one file: the newest version's types; enumerations; `<Type>-link`, a link to a resource
or the resource in its place; `<Action>RequestBody`. `readOnly: false` means declared writable,
no readOnly that the schema declares nothing (objects: see their properties).
"""

from collections.abc import Mapping

COPIED = frozenset({"type", "enum", "format", "pattern", "minimum", "maximum", "required"})

RENAMED: Mapping[str, str] = {
    "readonly": "readOnly",
    "writeOnly": "writeOnly",
    "versionAdded": "x-added",
    "versionDeprecated": "x-deprecated",
    "enumVersionAdded": "x-enum-added",
    "requiredOnCreate": "x-required-on-create",
    "units": "x-units",
    "autoExpand": "x-auto-expand",
    "uriSegment": "x-uri-segment",
    "excerptCopy": "x-excerpt-copy",
    "excerptCopyOnly": "x-excerpt-copy-only",
}

PROSE = frozenset(
    {
        "description",
        "longDescription",
        "enumDescriptions",
        "enumLongDescriptions",
        "enumDeprecated",
        "deprecated",
        "copyright",
        "title",
    }
)

# Read where the whole definition is at hand: resources.py and actions.py.
HANDLED = frozenset(
    {
        "uris",
        "urisDeprecated",
        "insertable",
        "updatable",
        "deletable",
        "parameters",
        "requiredParameter",
        "actionResponse",
        "enumVersionDeprecated",
        "excerpt",
    }
)

ALL_TYPES = frozenset({"array", "boolean", "integer", "number", "null", "object", "string"})
