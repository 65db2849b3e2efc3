"""Results of tools, as programs want them."""

from typing import Any

from .base import WireModel, declared


class ToolResult(WireModel):
    """A result with content, some of it perhaps structured."""

    @property
    def text(self) -> str:
        """All blocks of text, joined by line breaks."""
        content: list[Any] = declared(self, "content") or []
        blocks = (block for block in content if declared(block, "type") == "text")
        return "\n".join(str(block.text) for block in blocks)

    @property
    def data(self) -> Any:
        """The structured content as it came, or None."""
        return declared(self, "structured_content")
