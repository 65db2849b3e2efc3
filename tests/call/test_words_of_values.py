"""Values written as words are read back, whatever schema names their types."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.base.jsonvalue import is_array, json_type
from mcp_protogen.servers.call.arguments import ArgumentReader

SCALARS: st.SearchStrategy[Any] = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    st.text(st.characters(exclude_categories=["Cs"])),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=8
)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def write_words(value: Any, types: set[str], notation: str) -> list[str]:
    """Return the words for a value, as a reader of docs/command-call.md would write them."""
    looks = isinstance(value, str) and looks_like(value) in types
    if isinstance(value, str) and "string" in types and not looks:
        return [f"a={value}"] if not value.startswith("@") else [f"a:={json.dumps(value)}"]
    if isinstance(value, str):
        return [f"a:={json.dumps(value)}"]
    if is_array(value) and len(value) > 1 and notation == "items":
        return [f"a:={json.dumps(item)}" for item in value]
    return [f"a={json.dumps(value)}"]


def looks_like(text: str) -> str:
    """Return the type that JSON text has; that of text for any other."""
    try:
        return json_type(json.loads(text))
    except ValueError:
        return "string"


@given(st.data(), VALUES, st.sampled_from(["whole", "items"]))
def test_values_that_are_written_as_words_are_read_again(
    data: st.DataObject, value: Any, notation: str
) -> None:
    own = json_type(value)
    types = {own, *data.draw(st.sets(st.sampled_from(TYPES)))}
    arms = [{"type": kind} for kind in sorted(types)]
    part = data.draw(st.sampled_from([{"type": sorted(types)}, {"anyOf": arms}, {"oneOf": arms}]))
    schema: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"properties": {"a": part}},
                {"anyOf": [{"properties": {"a": part}}, {}]},
                {"properties": {"a": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": part}},
            ]
        )
    )
    wide = types | ({"integer"} if "number" in types else types)
    read = ArgumentReader(tool="t", schema=schema).read(write_words(value, wide, notation))["a"]
    assert read == value and json.dumps(read) == json.dumps(value)
