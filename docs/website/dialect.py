"""Differences between zensical and git hosts, written so that both show the same."""

import re
from typing import Final

_INFORMATION: Final = re.compile(r"^( *```\w+) [^\n]*$", re.M)
_ROW: Final = re.compile(r"^\|.*$", re.M)
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_ANCHOR: Final = re.compile(r"^(#+ .*?) \{ #\S+ \}$", re.M)


def for_zensical(text: str) -> str:
    """Return a page without the words after the language of a fence.

    In code, bars do not end a cell of a table, so they lose their backslash.
    """
    text = _INFORMATION.sub(r"\1", text)
    return _ROW.sub(lambda row: _CODE.sub(_with_bars, row[0]), text)


def plain(text: str) -> str:
    """Return a page without the anchors of its headings, which only zensical reads."""
    return _ANCHOR.sub(r"\1", text)


def _with_bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")
