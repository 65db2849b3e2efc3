"""The words of a command line as a user of bash has written them.

For completion, bash takes a line apart also at `:` and `=`, of which URLs and arguments consist,
and replaces only what comes after the last of them.
"""

import os
import re
from collections.abc import MutableMapping
from shlex import quote
from typing import Final

_WORDS: Final = "COMP_WORDS"
_PLACE: Final = "COMP_CWORD"
_CUT: Final = "_MCP_GEN_COMPLETE_CUT"
_BREAK: Final = re.compile(r"[:=]+")
_TOKEN: Final = re.compile(r"""(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s"'\\])+""")


def rejoin(environment: MutableMapping[str, str]) -> None:
    """Put the words together again in the variables with which bash asks for completions."""
    try:
        place = int(environment[_PLACE])
    except (KeyError, ValueError):
        return
    tokens = _TOKEN.findall(environment.get(_WORDS, ""))
    tokens += [""] * (place + 1 - len(tokens))
    words: list[str] = []
    cut, glued = "", False
    for number, token in enumerate(tokens[: place + 1]):
        is_break = _BREAK.fullmatch(token) is not None
        # What stands alone between two words is none of them.
        if (glued or is_break) and number > 1:
            cut = words[-1] + token if is_break else words[-1]
            words[-1] += token
        else:
            cut = ""
            words.append(token)
        glued = is_break
    # Only what is still to be replaced: completions that do not begin with it would be dropped.
    words[-1] = words[-1].removeprefix(cut)
    environment[_WORDS] = " ".join(word or quote("") for word in words)
    environment[_PLACE] = str(len(words) - 1)
    environment[_CUT] = cut


def whole(incomplete: str) -> str:
    """Return the word of the user, of which bash may have cut off the beginning."""
    return os.environ.get(_CUT, "") + incomplete


def replaced_part(word: str) -> str:
    """Return the part of a completed word that bash puts in; the whole word in other shells."""
    return word.removeprefix(os.environ.get(_CUT, ""))
