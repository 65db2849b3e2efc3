"""One byte sequence for one JSON value, strict reading, and the digests that rest on both.

Digests are SHA-256 in lower-case hexadecimal. This module knows JSON and files, and nothing of
what either of them means.
"""

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Never

from mcp_protogen.jsonvalue import is_array, is_object
from mcp_protogen.problems import Problem, ProblemError

_LINE = 100
"""Characters of a line in files that people write."""


def parse_json(data: bytes, place: str) -> Any:
    """The JSON value in `data`, read more strictly than `json` does by default.

    Raises `ProblemError` (`not-json`) for anything but UTF-8, for a member given twice, for NaN
    and infinities, for half a surrogate pair, and for nesting beyond what the interpreter can hold;
    `place` names the file.
    """
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_unique_members,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        if b"\\ud" in data.lower():  # only an escape can smuggle in what no encoder takes
            canonical(value)
        return value
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise ProblemError(Problem("not-json", f"this is not JSON: {reason}", place))


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {twice!r} occurs twice in one object")
    return members


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON number")


def canonical(value: Any) -> bytes:
    """The shortest form of a JSON value with sorted members, in UTF-8: what digests are over."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def pretty(value: Any) -> bytes:
    """The form committed files have: sorted members, two spaces, a newline at the end."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def compact(value: Any) -> bytes:
    """The form of files that people write: members in their order, what fits on its line."""
    return f"{_laid_out(value, 0, 0)}\n".encode()


def _laid_out(value: Any, indent: int, before: int) -> str:
    """`value` in a line after `before` characters, with a comma, or else in several."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(flat) + indent + before < _LINE or not value:
        return flat
    inner = " " * (indent + 2)
    if is_object(value):
        keyed = [
            (f"{json.dumps(name, ensure_ascii=False)}: ", item) for name, item in value.items()
        ]
    elif is_array(value):
        keyed = [("", item) for item in value]
    else:
        return flat
    lines = [inner + key + _laid_out(item, indent + 2, len(key)) for key, item in keyed]
    return "\n".join([flat[0], ",\n".join(lines), " " * indent + flat[-1]])


def sha256(data: bytes) -> str:
    """The digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """The digest of a JSON value, whatever its layout and member order were in a file."""
    return sha256(canonical(value))


def digest_files(folder: Path, files: Iterable[Path]) -> str:
    """The digest of files below `folder`: of their POSIX relative paths and contents."""
    entries = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    return digest({path: sha256(content) for path, content in entries.items()})
