"""Results of tools, as programs want them."""

from typing import Any

from .base import WireModel, declared


class ToolResult(WireModel):
    """A result with content, some of it perhaps structured."""

    @property
    def text(self) -> str:
        """All blocks of text, joined by line breaks."""
        blocks = declared(self, "content") or ()
        return "\n".join(str(one.text) for one in blocks if declared(one, "type") == "text")

    @property
    def data(self) -> Any:
        """The structured content as it came, or None."""
        return declared(self, "structured_content")


def has_failed(result: object) -> bool:
    """Return whether the tool has failed."""
    return declared(result, "is_error") is True
