"""Every key of the formats of facts has code that reads it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.resources import schema_folder
from support.bounds.house import CODE, MODULES

# For people who check a fact, or decide it.
FOR_PEOPLE = {"choices", "difference", "reason", "source"}
# Code that only drafts facts, or is copied into packages.
OTHERS = CODE / "instep" / "drafts", CODE / "runtime"


def keys(schema: Any) -> Iterator[str]:
    """Yield the names of all members in a JSON schema."""
    for pointer, value in jsonpointer.walk(schema):
        if pointer.endswith("/properties"):
            yield from value


@pytest.mark.parametrize("name", ["facts", "extension-facts"])
def test_facts_have_no_key_that_nothing_reads(name: str) -> None:
    reading = (path for path in MODULES if not any(map(path.is_relative_to, OTHERS)))
    texts = "".join(path.read_text(encoding="utf-8") for path in reading)
    schema = json.loads((schema_folder() / "formats" / f"{name}.schema.json").read_bytes())
    assert {*keys(schema)} - {*re.findall(r'"([$\w]+)"', texts)} <= FOR_PEOPLE
