"""The kinds of lists of a server."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object


class Kind(StrEnum):
    """A kind of list."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "templates"

    @property
    def singular(self) -> str:
        """The word for one entry."""
        return self.removesuffix("s")

    @property
    def capability(self) -> str:
        """The capability for this list."""
        return "resources" if self is Kind.TEMPLATES else self.value

    @property
    def member(self) -> str:
        """The member of a result that has the list."""
        return "resourceTemplates" if self is Kind.TEMPLATES else self.value

    @property
    def key(self) -> str:
        """The member of an entry that tells it from others."""
        keys: dict[Kind, str] = {Kind.RESOURCES: "uri", Kind.TEMPLATES: "uriTemplate"}
        return keys.get(self, "name")


def prompt_arguments(prompt: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of a listed prompt."""
    listed = prompt.get("arguments")
    return [argument for argument in listed if is_object(argument)] if is_array(listed) else []
