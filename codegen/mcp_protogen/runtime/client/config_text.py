"""The text of configuration files: JSON with comments, and `.env` files."""

import re
from typing import Any, Final

from ..core.json import read_json

# Texts are matched too, or text that looks like a comment would be removed from them.
_TEXT: Final = r'(?P<text>"(?:[^"\\]|\\.)*")'
_COMMENT: Final = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])", re.DOTALL)

_VARIABLE: Final = re.compile(
    r"""(?:export\s+)? (?P<name>[A-Za-z_][\w.-]*) \s*=\s*
        (?: '(?P<plain>[^']*)' | "(?P<quoted>(?:[^"\\]|\\.)*)"
        | (?P<bare>(?:[^\s'"\#]\S*(?:\s+[^\s\#]\S*)*)?) )
        (?:\s+\#.*)?""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def read_commented(text: str) -> Any:
    """Read JSON that may have comments and trailing commas; raise `ValueError`."""

    def blank(found: re.Match[str]) -> str:
        # Blanks keep the places of later errors.
        return found["text"] or re.sub(r"[^\n]", " ", found[0])

    return read_json(_LAST_COMMA.sub(blank, _COMMENT.sub(blank, text)))


def read_variables(text: str) -> dict[str, str]:
    """Read lines of `NAME=value`, as in `.env` files; raise `ValueError` with the line."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _VARIABLE.fullmatch(stripped)
        if found is None:
            raise ValueError(f"line {number} is not NAME=value")
        value = found["plain"] if found["bare"] is None else found["bare"]
        if found["quoted"] is not None:
            value = _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[0]), found["quoted"])
        variables[found["name"]] = value
    return variables
