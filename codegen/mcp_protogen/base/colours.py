"""Colours of pages on a terminal: "select graphic rendition" (ECMA-48, section 8.3.117).

A page contains marks instead of escape sequences until all other text is escaped. Foreign text
cannot contain a mark, because each process chooses random ones.
"""

import os
import re
from enum import StrEnum


class Colour(StrEnum):
    """Colours and styles, as parameters of an escape sequence."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    CYAN = "36"
    BOLD_RED = "1;31"
    BOLD_YELLOW = "1;33"
    BOLD_BLUE = "1;34"


_BEGIN = f"\x1b{os.urandom(8).hex()}["
MARK = re.compile(rf"{re.escape(_BEGIN)}(0|{'|'.join(Colour)})m")
"""A mark in a page; its group has the parameters of the escape sequence."""


def paint(colour: Colour, text: str, *, on: bool = True) -> str:
    """Return text between marks of a colour; unchanged if it is blank or colours are off."""
    return f"{_BEGIN}{colour}m{text}{_BEGIN}0m" if on and text.strip() else text
