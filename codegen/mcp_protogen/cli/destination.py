"""The form of a page, and the place that takes it."""

import sys
from dataclasses import dataclass
from errno import EISDIR, ENOENT
from os import strerror
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from mcp_protogen.base.printable import page as safe_page
from mcp_protogen.cli.console import colourful, say
from mcp_protogen.pipeline.config import Format

if TYPE_CHECKING:
    from mcp_protogen.pipeline.reports.change import Comparison, Matrix, Reader

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Destination:
    """The form of a page, and the file that takes it; None for stdout."""

    form: str
    output: Path | None = None

    @property
    def coloured(self) -> bool:
        """Return whether text has colours; in a file it has none."""
        return self.output is None and colourful(sys.stdout)

    @property
    def width(self) -> int:
        """Return the columns of a line: those of the terminal, or as many as are easy to read."""
        narrow = self.output is None and sys.stdout.isatty()
        return min(get_terminal_size().columns, _WIDTH) if narrow else _WIDTH

    def page(
        self, comparison: "Comparison", reader: "Reader | None", matrix: "Matrix | None" = None
    ) -> str:
        """Return a comparison in this form, no wider than the terminal, or than is easy to read."""
        from mcp_protogen.pipeline.reports.pages import PageFormat, render

        form: PageFormat = PageFormat(self.form)
        colour, width = self.coloured, self.width
        return render(form, comparison, matrix, reader=reader, colour=colour, width=width)

    def deliver(self, page: str) -> None:
        """Write a page to its place; a failure leaves the old file as it was."""
        if self.output is None:
            say(page, self.form)
            return
        from mcp_protogen.base.file_set import write_files
        from mcp_protogen.base.files import writing

        output, commands = self.output, self.form == Format.GITHUB
        with writing(output, "name a file in a folder that exists"):
            # A missing folder is more likely a typing error than a wish.
            wrong = EISDIR if output.is_dir() else 0 if output.parent.is_dir() else ENOENT
            if wrong:
                raise OSError(wrong, strerror(wrong), str(output))
            write_files({output: safe_page(page, commands=commands).encode()})
