"""The formats of a comparison: text, JSON, Markdown, annotations, an HTML page.

A renderer is a function from values to a string. It leaves nothing out: the caller narrows a
comparison and detects a terminal.
"""

from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_protogen.pipeline.reports.change import Comparison, Reader

if TYPE_CHECKING:
    from mcp_protogen.pipeline.reports.change import Matrix


class PageFormat(StrEnum):
    """The formats of a comparison."""

    TEXT = "text"
    """Grouped and aligned, for a terminal."""
    JSON = "json"
    """All values, for programs; `schema/formats/comparison.schema.json` describes them."""
    MARKDOWN = "markdown"
    """A changelog to paste."""
    GITHUB = "github"
    """Annotations of GitHub Actions."""
    HTML = "html"
    """One page for a browser, without other files."""


def render(
    format: PageFormat,
    comparison: Comparison,
    matrix: "Matrix | None" = None,
    *,
    reader: Reader | None = None,
    colour: bool = False,
    width: int = 100,
) -> str:
    """Return the comparison in one format, with a newline at the end.

    Severities are those for `reader`, or the worst ones. `matrix` is for the HTML page; `colour`
    and `width`, in columns, are for text.
    """
    # Only the requested format is imported: text must not wait for Jinja.
    match format:
        case PageFormat.TEXT:
            from mcp_protogen.pipeline.reports.pages import as_text

            return as_text.render(comparison, reader=reader, colour=colour, width=width)
        case PageFormat.JSON:
            from mcp_protogen.pipeline.reports.pages import as_json

            return as_json.render(comparison, reader=reader)
        case PageFormat.MARKDOWN:
            from mcp_protogen.pipeline.reports.pages import markdown

            return markdown.render(comparison, reader=reader)
        case PageFormat.GITHUB:
            from mcp_protogen.pipeline.reports.pages import github

            return github.render(comparison, reader=reader)
        case PageFormat.HTML:
            from mcp_protogen.pipeline.reports.pages import html

            return html.render(comparison, matrix, reader=reader)
