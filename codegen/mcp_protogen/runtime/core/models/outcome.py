"""The result of something that may fail, with what programs most often want of it."""

from typing import Any

from .base import WireModel, declared


class Outcome(WireModel):
    """A result with content, and perhaps with structured content."""

    @property
    def text(self) -> str:
        """The blocks of text, with line breaks between them."""
        content: list[Any] = declared(self, "content") or []
        blocks = (block for block in content if declared(block, "type") == "text")
        return "\n".join(str(block.text) for block in blocks)

    @property
    def data(self) -> Any:
        """The structured content as it came, or None; the first revisions have none."""
        return declared(self, "structured_content")
