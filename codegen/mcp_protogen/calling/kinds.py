"""The kinds of what a server may list."""

from enum import StrEnum


class Kind(StrEnum):
    """What there may be lists of."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "templates"
