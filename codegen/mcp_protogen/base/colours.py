"""Colours of pages on a terminal: "select graphic rendition" (ECMA-48, section 8.3.117)."""

from enum import StrEnum


class Colour(StrEnum):
    """How a text is shown, as the parameters of its escape sequence."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    CYAN = "36"
    BOLD_RED = "1;31"
    BOLD_YELLOW = "1;33"
    BOLD_BLUE = "1;34"


def painted(colour: Colour, text: str, *, on: bool = True) -> str:
    """Return text in a colour; as it is if colours are not `on`, or if nothing of it is seen."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and text.strip() else text
