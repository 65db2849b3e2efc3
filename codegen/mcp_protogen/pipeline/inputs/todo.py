"""The open decisions in the files of a revision: each TODO value."""

import re
from collections.abc import Iterator
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object

TODO = "TODO"
CHOICES = "choices"
"""The member of a translation rule in place of a verb, until one is chosen."""

_INSIDE = re.compile(f"/{CHOICES}/[0-9]+(/|$)")


def todos(document: Any) -> Iterator[str]:
    """Yield JSON Pointers to undecided values; a choice is one, whatever it is between."""
    for pointer, value in jsonpointer.walk(document):
        if _INSIDE.search(pointer):
            continue
        if value == TODO or (is_object(value) and is_array(value.get(CHOICES))):
            yield pointer
