"""The formats of an outcome of `mcp-gen update`: text, JSON, Markdown or annotations."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_protogen.instep.update.updating import UpdateResult


class UpdateFormat(StrEnum):
    """The formats of an outcome."""

    TEXT = "text"
    """For a terminal."""
    JSON = "json"
    """Everything, for programs; `schema/formats/update.schema.json` describes it."""
    MARKDOWN = "markdown"
    """The text of an issue or a pull request."""
    GITHUB = "github"
    """Annotations of GitHub Actions."""


def render(format: UpdateFormat, outcome: "UpdateResult", *, colour: bool = False) -> str:
    """Return the outcome in one format, with a newline at the end; `colour` is for text."""
    # Only the module of this format is imported.
    match format:
        case UpdateFormat.TEXT:
            from mcp_protogen.instep.update.pages import text

            return text.render(outcome, colour=colour)
        case UpdateFormat.JSON:
            from mcp_protogen.instep.update.pages import as_json

            return as_json.render(outcome)
        case UpdateFormat.MARKDOWN:
            from mcp_protogen.instep.update.pages import markdown

            return markdown.render(outcome)
        case UpdateFormat.GITHUB:
            from mcp_protogen.instep.update.pages import github

            return github.render(outcome)
