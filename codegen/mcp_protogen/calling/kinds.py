"""The kinds of what a server may list."""

from enum import StrEnum


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
