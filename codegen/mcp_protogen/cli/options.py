"""The options that several commands have, and the place and the form of a page."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from errno import EISDIR, ENOENT
from os import strerror
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_protogen.base.printable import page as safe_page
from mcp_protogen.cli.console import colourful, say
from mcp_protogen.config import Format

if TYPE_CHECKING:
    from mcp_protogen.findings.change import Comparison, Matrix, Reader

_WIDTH = 100


class LeastSeverity(StrEnum):
    """The lowest severity of what is shown."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


FormatOption = Annotated[Format | None, typer.Option("--format", help="Form of the report.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that were edited by hand.")]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", help="Neither use packages of earlier runs nor keep this one."),
]
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
Templates = Annotated[
    Path | None,
    typer.Option(
        "--templates", metavar="DIR", help="Folder of templates that replace built-in ones."
    ),
]


@dataclass(frozen=True, slots=True)
class Destination:
    """The form of a page, and the file that takes it; None for stdout."""

    form: str
    output: Path | None

    @property
    def coloured(self) -> bool:
        """Return whether text has colours; in a file it has none."""
        return self.output is None and colourful(sys.stdout)

    def page(
        self, comparison: "Comparison", reader: "Reader | None", matrix: "Matrix | None" = None
    ) -> str:
        """Return a comparison in this form, no wider than the terminal, or than is easy to read."""
        from mcp_protogen.findings.pages import PageFormat, render

        narrow = self.output is None and sys.stdout.isatty()
        width = min(get_terminal_size().columns, _WIDTH) if narrow else _WIDTH
        form: PageFormat = PageFormat(self.form)
        return render(form, comparison, matrix, reader=reader, colour=self.coloured, width=width)

    def deliver(self, page: str) -> None:
        """Write a page to its place; a failure leaves the old file as it was."""
        if self.output is None:
            say(page, self.form)
            return
        from mcp_protogen.base.files import replace_files, writing

        output, commands = self.output, self.form == Format.GITHUB
        with writing(output, "name a file in a folder that exists"):
            # A missing folder is more likely a typing error than a wish.
            wrong = EISDIR if output.is_dir() else 0 if output.parent.is_dir() else ENOENT
            if wrong:
                raise OSError(wrong, strerror(wrong), str(output))
            replace_files({output: safe_page(page, commands=commands).encode()})
