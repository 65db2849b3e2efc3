"""How a comparison looks: as text, as JSON, as Markdown, as annotations, as a page.

A renderer is a function from values to a string. Nothing is left out here for being harmless:
narrowing a comparison is for `compare.select`, and whether there is a terminal for the caller.
"""

from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_protogen.compare.change import Comparison, Reader

if TYPE_CHECKING:
    from mcp_protogen.compare.matrix import Matrix


class PageFormat(StrEnum):
    """What a comparison can be written as."""

    TEXT = "text"
    """Grouped and aligned, for a terminal."""
    JSON = "json"
    """All there is, for programs; `schema/formats/comparison.schema.json` describes it."""
    MARKDOWN = "markdown"
    """A changelog to paste."""
    GITHUB = "github"
    """Annotations of GitHub Actions."""
    HTML = "html"
    """One page to look through, which needs nothing else."""


def render(
    form: PageFormat,
    comparison: Comparison,
    matrix: "Matrix | None" = None,
    *,
    reader: Reader | None = None,
    colour: bool = False,
    width: int = 100,
) -> str:
    """The comparison in one form, with a newline at the end.

    Severities are those for `reader`, or the worst for anybody. `matrix` is for the page, `colour`
    and `width`, in columns, are for text.
    """
    # Only the form that is asked for is imported: text must not wait for a template engine.
    match form:
        case PageFormat.TEXT:
            from mcp_protogen.compare.pages import text

            return text.render(comparison, reader=reader, colour=colour, width=width)
        case PageFormat.JSON:
            from mcp_protogen.compare.pages import as_json

            return as_json.render(comparison, reader=reader)
        case PageFormat.MARKDOWN:
            from mcp_protogen.compare.pages import markdown

            return markdown.render(comparison, reader=reader)
        case PageFormat.GITHUB:
            from mcp_protogen.compare.pages import github

            return github.render(comparison, reader=reader)
        case PageFormat.HTML:
            from mcp_protogen.compare.pages import html

            return html.render(comparison, matrix, reader=reader)
