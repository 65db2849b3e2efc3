"""The place of a page that a command has made, its width, and its colours."""

import sys
from errno import EISDIR, ENOENT
from os import strerror
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from mcp_protogen.base.printable import page as safe_page
from mcp_protogen.cli.console import colourful, say
from mcp_protogen.config import Format

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
"""The option for the file that takes a page."""
_WIDTH = 100


def coloured(output: Path | None) -> bool:
    """Return whether text has colours; in a file it has none."""
    return output is None and colourful(sys.stdout)


def columns(output: Path | None) -> int:
    """Return the width of text; a terminal may be narrower than what is easy to read."""
    narrow = output is None and sys.stdout.isatty()
    return min(get_terminal_size().columns, _WIDTH) if narrow else _WIDTH


def deliver(page: str, form: str, output: Path | None) -> None:
    """Write a page to stdout, or into a file; a failure leaves the old file as it was."""
    if output is None:
        say(page, form)
        return
    from mcp_protogen.base.files import replace_files, writing

    with writing(output, "name a file in a folder that exists"):
        # A missing folder is more likely a typing error than a wish.
        wrong = EISDIR if output.is_dir() else 0 if output.parent.is_dir() else ENOENT
        if wrong:
            raise OSError(wrong, strerror(wrong), str(output))
        replace_files({output: safe_page(page, commands=form == Format.GITHUB).encode()})
