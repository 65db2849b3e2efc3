"""Foreign text made safe for terminals and logs of a CI.

A name, a path or a message may contain terminal escape sequences, line breaks, and marks that
change the reading direction. Such characters are written as JSON escapes, so that a JSON document
keeps its meaning.
"""

import re
from collections.abc import Sequence

from mcp_protogen.base.colours import MARK

INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Control and invisible characters, for a character class of a regular expression.

These are controls except tab and line feed, line separators, surrogates, format characters (marks
of direction are among them), fillers and variation selectors.
"""

_ACTING = re.compile(f"[\t\n{INVISIBLE}]")
_ACTING_IN_PAGE = re.compile(f"{MARK.pattern}|[{INVISIBLE}]")
# https://github.com/actions/runner, ActionCommand.cs: a command in the present syntax comes first
# on its line, after white space, and .NET may ignore invisible characters when it compares; one in
# the older syntax may be anywhere, as may those of Azure.
_COMMAND = re.compile(rf"^((?:(?!\n)[\s{INVISIBLE}])*):(?=:)", re.MULTILINE)
_OLD_COMMAND = re.compile(r"##(?=(?:vso)?\[)")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def safe_line(text: str) -> str:
    """Return foreign text on one line, with control and invisible characters escaped."""
    return _ACTING.sub(lambda found: _escape(found[0]), text)


def no_command(text: str) -> str:
    """Return text without workflow commands of GitHub Actions: they are escaped."""
    return _OLD_COMMAND.sub(r"#\\u0023", _COMMAND.sub(r"\1\\u003a", text))


def page(text: str, *, colour: bool = False, commands: bool = False) -> str:
    """Return a whole page that is safe to print, with its line breaks.

    `commands` keeps workflow commands; `colour` turns marks into colours.
    """
    colours = "\x1b[{}m" if colour else ""
    shown = _ACTING_IN_PAGE.sub(
        lambda found: colours.format(found[1]) if found[1] else safe_line(found[0]), text
    )
    return _OLD_COMMAND.sub(r"#\\u0023", shown) if commands else no_command(shown)


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summarize_list(texts: Sequence[object], most: int) -> str:
    """Return up to `most` texts, joined by commas, and the number of the others."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(map(str, texts[:most])) + more


def _escape(char: str) -> str:
    code = ord(char)
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return _SHORT.get(char, f"\\u{code:04x}")
