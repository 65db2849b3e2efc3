"""Where a page goes that a command has made, how wide it may be, and whether it has colours."""

import sys
from errno import EISDIR, ENOENT
from os import strerror
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from mcp_protogen.cli.console import colourful, say
from mcp_protogen.config import Format
from mcp_protogen.printable import page as safe_page

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
]
"""The option for the file that takes a page."""
_WIDTH = 100


def coloured(output: Path | None) -> bool:
    """Whether text has colours; a file has none."""
    return output is None and colourful(sys.stdout)


def columns(output: Path | None) -> int:
    """How wide text may be; a terminal may have less than what is easy to read."""
    narrow = output is None and sys.stdout.isatty()
    return min(get_terminal_size().columns, _WIDTH) if narrow else _WIDTH


def deliver(page: str, form: str, output: Path | None) -> None:
    """Show a page on stdout, or put it into a file whole, or leave what is there."""
    if output is None:
        say(page, form)
        return
    from mcp_protogen.output.files import replace_files, writing

    with writing(output, "name a file, in a folder that is there"):
        # A folder that is missing is more likely a slip than a wish.
        wrong = EISDIR if output.is_dir() else 0 if output.parent.is_dir() else ENOENT
        if wrong:
            raise OSError(wrong, strerror(wrong), str(output))
        replace_files({output: safe_page(page, commands=form == Format.GITHUB).encode()})
