"""What zensical reads otherwise than git hosts do, written so that both show the same."""

import re
from typing import Final

_INFORMATION: Final = re.compile(r"^( *```\w+) [^\n]*$", re.M)
_ANCHOR: Final = re.compile(r"^(#+ .*?) \{ #\S+ \}$", re.M)


def for_zensical(text: str) -> str:
    """Return a page without the words after the language of a fence."""
    return _INFORMATION.sub(r"\1", text)


def plain(text: str) -> str:
    """Return a page without what is for zensical alone: the anchors of its headings."""
    return _ANCHOR.sub(r"\1", text)
