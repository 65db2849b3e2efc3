"""The kinds of what a server may list."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object


class Kind(StrEnum):
    """What there may be lists of."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "templates"

    @property
    def singular(self) -> str:
        """The word for one of them."""
        return self.removesuffix("s")

    @property
    def capability(self) -> str:
        """The capability of servers that list them."""
        return "resources" if self is Kind.TEMPLATES else self.value

    @property
    def member(self) -> str:
        """The member of a result that has the list."""
        return "resourceTemplates" if self is Kind.TEMPLATES else self.value


def prompt_arguments(prompt: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of a prompt as it is listed."""
    listed = prompt.get("arguments")
    return [argument for argument in listed if is_object(argument)] if is_array(listed) else []
