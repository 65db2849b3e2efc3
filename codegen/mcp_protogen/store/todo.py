"""What somebody still has to decide in the files of a revision: every value that says TODO."""

from collections.abc import Iterator
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.jsonvalue import is_array, is_object

TODO = "TODO"
CHOICES = "choices"
"""In a rule of translation, in place of a verb, while nobody has chosen one."""


def todos(document: Any) -> Iterator[str]:
    """JSON Pointers to what is not decided yet."""
    for pointer, value in jsonpointer.walk(document):
        if value == TODO or (is_object(value) and is_array(value.get(CHOICES))):
            yield pointer
