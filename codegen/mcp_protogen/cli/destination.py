"""The format and destination of a page."""

import sys
from dataclasses import dataclass
from errno import EISDIR, ENOENT
from os import strerror
from pathlib import Path
from shutil import get_terminal_size

from mcp_protogen.base.printable import page as safe_page
from mcp_protogen.cli.console import colourful, say
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.view import View

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Destination:
    """The format of a page, and its file; None for stdout."""

    format: str
    output: Path | None = None

    @property
    def view(self) -> View:
        """The view of a page: at most as wide as the terminal; without colours in a file."""
        narrow = self.output is None and sys.stdout.isatty()
        width = min(get_terminal_size().columns, _WIDTH) if narrow else _WIDTH
        return View(self.format, self.output is None and colourful(sys.stdout), width)

    def deliver(self, page: str) -> None:
        """Write a page; a failure leaves the old file unchanged."""
        if self.output is None:
            say(page, self.format)
            return
        from mcp_protogen.base.file_set import write_files
        from mcp_protogen.base.files import writing

        output, commands = self.output, self.format == Format.GITHUB
        with writing(output, "name a file in a folder that exists"):
            # A missing folder is more likely a typing error than a wish.
            wrong = EISDIR if output.is_dir() else 0 if output.parent.is_dir() else ENOENT
            if wrong:
                raise OSError(wrong, strerror(wrong), str(output))
            write_files({output: safe_page(page, commands=commands).encode()})
