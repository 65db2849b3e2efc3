"""Options of several commands, declared with Typer."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from mcp_protogen.cli import completion
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.change import Reader, Severity
from mcp_protogen.pipeline.reports.findings import FindingOptions
from mcp_protogen.pipeline.reports.pages import PageFormat


class FailOn(StrEnum):
    """The lowest severity at which a change makes the command fail."""

    BREAKING = "breaking"
    WARNING = "warning"
    ANY = "any"

    @property
    def severity(self) -> Severity:
        """The lowest severity that fails the command."""
        return Severity.INFO if self is FailOn.ANY else Severity(self)


class LeastSeverity(StrEnum):
    """The lowest severity that is shown."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


class LogThreshold(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The format of the log."""

    TEXT = "text"
    JSON = "json"


comparing_option: Final = partial(typer.Option, rich_help_panel="Comparing, in place of writing")
server_option: Final = partial(typer.Option, rich_help_panel="Server")
_finding_option: Final = partial(typer.Option, rich_help_panel="Findings")
"""Options below headings in the help of a command; others are below "Options"."""

RevisionWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REVISION",
        help="The same as --revision.",
        show_default=False,
        autocompletion=completion.revision,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that were edited by hand.")]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Do not read or write the cache of packages.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal fault.")]
ReportFormat = Annotated[Format, typer.Option("--format", help="Format of the report.")]
FindingsFormat = Annotated[PageFormat, typer.Option("--format", help="Format of the report.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the summary.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
Schema = Annotated[
    str | None,
    typer.Option(
        "--schema", metavar="FILE|URL", help="A published schema to use in place of the pin."
    ),
]
SchemaFolder = Annotated[
    Path | None,
    typer.Option(
        "--schema-folder",
        metavar="DIR",
        help="Folder of pins and snapshots, if not the installed one.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChoice:
    """The options that choose findings: shown, known and ignored ones."""

    baseline: Annotated[
        Path | None,
        _finding_option(metavar="FILE", help="File of known findings; only new ones fail the run."),
    ] = None
    write_baseline: Annotated[
        bool,
        _finding_option("--write-baseline", help="Write all findings into the baseline."),
    ] = False
    ignore: Annotated[
        list[str] | None,
        _finding_option(
            metavar="CODE[:ITEM]",
            help="Leave out findings with this code and item; * stands for any text.",
        ),
    ] = None
    reader: Annotated[
        Reader | None,
        _finding_option("--for", help="Show the severities for this reader."),
    ] = None
    only: Annotated[
        LeastSeverity | None,
        _finding_option(help="Leave out less severe findings."),
    ] = None

    def options(self, noun: str) -> FindingOptions:
        """Return the options; `noun` is the command's word for a finding."""
        return FindingOptions(
            noun,
            self.baseline,
            self.write_baseline,
            tuple(self.ignore or ()),
            self.reader,
            Severity(self.only) if self.only else None,
        )
