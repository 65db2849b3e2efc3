"""The lines of values in TOML, which its parser does not tell."""

from bisect import bisect_left
from functools import lru_cache

from mcp_protogen.base import jsonpointer


@lru_cache
def line_of(text: str, pointer: str) -> int:
    """Return the number of the line where the value at a JSON Pointer begins; 0 without one.

    A file can be cut off after some of its lines, and then lacks what comes later.
    """
    import tomllib

    lines = text.split("\n")

    def has_value(number: int) -> bool:
        """Return whether the value is in the shortest valid beginning of `number` lines or more."""
        for end in range(number, len(lines) + 1):
            try:
                document = tomllib.loads("\n".join([*lines[:end], ""]))
                jsonpointer.get(document, pointer)
            except tomllib.TOMLDecodeError:
                continue
            except jsonpointer.NothingThere:
                return False
            return True
        return False

    number = bisect_left(range(len(lines) + 1), True, key=has_value)
    return number if number <= len(lines) else 0
