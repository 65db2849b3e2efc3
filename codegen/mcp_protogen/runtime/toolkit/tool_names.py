"""The names that a tool may have (2025-11-25, server/tools, "Tool Names").

The page says SHOULD. Here it is a rule, because clients refuse other names or change them, each in
its own way. Names are compared exactly: upper and lower case differ.
"""

import re
from typing import Final

_LONGEST: Final = 128
_OTHER: Final = re.compile(r"[^A-Za-z0-9_.-]")


def check_tool_name(name: str) -> None:
    """Raise `ValueError`, which says what is wrong, for a name that a tool may not have."""
    if not 1 <= len(name) <= _LONGEST:
        raise ValueError(f"the name of a tool has 1 to {_LONGEST} characters, not {len(name)}")
    other = _OTHER.search(name)
    if other is not None:
        allowed = "ASCII letters and digits, underscores, hyphens and dots"
        raise ValueError(f"the tool name {name!r} contains {other[0]!r}; allowed are {allowed}")
