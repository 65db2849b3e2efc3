"""`mcp-gen revisions` and `mcp-gen extensions`: lists of both."""

from typing import Annotated

import typer

from mcp_protogen.cli.outcome import finish
from mcp_protogen.pipeline.config import Format

_Format = Annotated[Format, typer.Option("--format", help="Format of the report.")]


def revisions(format: _Format = Format.TEXT) -> None:
    """List the revisions that can be generated, and their pins."""
    from mcp_protogen.instep.schemas import catalogue

    finish(catalogue, "revisions", format)


def extensions(format: _Format = Format.TEXT) -> None:
    """List the extensions that can be generated."""
    from mcp_protogen.instep.schemas import extensions as catalogue

    finish(catalogue, "extensions", format)
