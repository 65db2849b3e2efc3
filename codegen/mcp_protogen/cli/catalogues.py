"""`mcp-gen revisions` and `mcp-gen extensions`: lists of both."""

from mcp_protogen.cli.options import ReportFormat
from mcp_protogen.cli.outcome import finish
from mcp_protogen.pipeline.config import Format


def revisions(format: ReportFormat = Format.TEXT) -> None:
    """List the revisions that can be generated, and their pins."""
    from mcp_protogen.instep.schemas import catalogue

    finish(catalogue, "revisions", format)


def extensions(format: ReportFormat = Format.TEXT) -> None:
    """List the extensions that can be generated."""
    from mcp_protogen.instep.schemas import extensions as catalogue

    finish(catalogue, "extensions", format)
