"""The versions of JSON Schema: whether a schema means the same in all of them.

Keywords have come and gone, and some have changed their meaning. Programs disagree about a schema
with a keyword of another version.
"""

from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.base.subschemas import subschemas
from mcp_protogen.servers.call.input_schemas import strings
from mcp_protogen.servers.clients.keywords import ANNOTATIONS

Json = dict[str, Any]

_NEWEST: Final = "draft/2020-12/schema"
_DRAFTS: Final = ("draft-04/schema", "draft-06/schema", "draft-07/schema")
_VERSIONS: Final = (*_DRAFTS, "draft/2019-09/schema", _NEWEST)
_REFERENCES: Final = (b'"$ref"', b'"$dynamicRef"', b'"$recursiveRef"')
# The version that added a keyword, and the one that removed it: json-schema.org, release notes.
_SINCE: Final = {
    **dict.fromkeys(("const", "contains", "propertyNames"), 1),
    **dict.fromkeys(("if", "then", "else"), 2),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains", "maxContains"), 3),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties", "$recursiveRef"), 3),
    **dict.fromkeys(("prefixItems", "$dynamicRef"), 4),
}
_UNTIL: Final = {"dependencies": 2, "additionalItems": 3, "$recursiveRef": 3}
_EXCLUSIVE: Final = ("exclusiveMaximum", "exclusiveMinimum")


def refers(text: bytes) -> bool:
    """Return whether a schema, as canonical JSON, refers to others."""
    return any(keyword in text for keyword in _REFERENCES)


def is_ambiguous(document: Json) -> bool:
    """Return whether other programs may read a schema in another way.

    They may if it has a keyword of another version, or a base for references inside.
    """
    said = document.get("$schema", _NEWEST)
    names = [dialect for dialect in _VERSIONS if isinstance(said, str) and dialect in said]
    if not names:
        return True
    version = _VERSIONS.index(names[0])
    return any(
        _is_ambiguous(subschema, version)
        or (subschema is not document and subschema.keys() & {"$id", "$schema"})
        for subschema in subschemas(document)
    )


def _is_ambiguous(schema: Json, version: int) -> bool:
    if any(_SINCE.get(key, 0) > version or _UNTIL.get(key, 4) < version for key in schema):
        return True
    # Up to draft 7, keywords beside a reference have no meaning.
    beside = version < len(_DRAFTS) and "$ref" in schema
    return (
        (beside and bool(schema.keys() - {"$ref"} - ANNOTATIONS))
        or (version == len(_VERSIONS) - 1 and is_array(schema.get("items")))
        or ("type" in schema and not _is_type(schema["type"]))
        or any(isinstance(schema.get(key), bool) for key in _EXCLUSIVE)
    )


def _is_type(value: Any) -> bool:
    return isinstance(value, str) or (value != [] and value == strings(value))
