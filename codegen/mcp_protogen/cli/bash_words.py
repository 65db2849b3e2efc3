"""The words of a command line in bash, as the user wrote them.

For completion, bash also splits a line at each `:` and `=`, so in URLs and arguments, and replaces
only the part after the last one.
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
    """Join the words again in the variables of bash's request for completions."""
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
        # A break that stands alone between two words belongs to neither.
        if (glued or is_break) and number > 1:
            cut = words[-1] + token if is_break else words[-1]
            words[-1] += token
        else:
            cut = ""
            words.append(token)
        glued = is_break
    # Only the part that bash replaces: it drops completions that do not begin with it.
    words[-1] = words[-1].removeprefix(cut)
    environment[_WORDS] = " ".join(word or quote("") for word in words)
    environment[_PLACE] = str(len(words) - 1)
    environment[_CUT] = cut


def whole_word(incomplete: str) -> str:
    """Return the user's whole word, with the beginning that bash may have cut off."""
    return os.environ.get(_CUT, "") + incomplete


def replaced_part(word: str) -> str:
    """Return the part of a completed word that bash inserts; in other shells, the whole word."""
    return word.removeprefix(os.environ.get(_CUT, ""))
