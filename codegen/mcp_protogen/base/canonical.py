"""Canonical JSON bytes, strict reading of JSON, and the digests that rest on both.

Digests are SHA-256 in lower-case hexadecimal.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Never

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError

_LINE = 100
"""The longest line in files that people write, in characters."""


def parse_json(data: bytes, place: str) -> Any:
    """Return the JSON value in `data`, read more strictly than `json` does by default.

    Raise `ProblemError` (`not-json`) for invalid UTF-8, duplicate members, NaN, infinities, lone
    surrogates, and nesting that is too deep for the interpreter; `place` names the file.
    """
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_unique_members,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        if b"\\ud" in data.lower():  # only an escape can be a lone surrogate
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
    """Return the shortest text of a JSON value, with sorted members, in UTF-8.

    Digests are made over this text.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def pretty(value: Any) -> bytes:
    """Return the text of committed files: sorted members; values on one line where they fit."""
    return compact(json.loads(canonical(value)))


def compact(value: Any) -> bytes:
    """Return the text of files that people write: members in order, one line where it fits."""
    return f"{_lay_out(value, 0, 0)}\n".encode()


def _lay_out(value: Any, indent: int, before: int) -> str:
    """Return `value` on one line after `before` characters, with a comma, or on several lines."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(flat) + indent + before < _LINE or not value:
        return flat
    inner = " " * (indent + 2)
    if is_object(value):
        keyed = [(f"{on_one_line(name)}: ", item) for name, item in value.items()]
    elif is_array(value):
        keyed = [("", item) for item in value]
    else:
        return flat
    lines = [inner + key + _lay_out(item, indent + 2, len(key)) for key, item in keyed]
    return "\n".join([flat[0], ",\n".join(lines), " " * indent + flat[-1]])


def on_one_line(value: Any) -> str:
    """Return a JSON value as people read it, with members in their order."""
    return json.dumps(value, ensure_ascii=False)


def as_document(value: Any) -> str:
    """Return a JSON value as commands print it for programs."""
    return json.dumps(value, indent=2) + "\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the digest of a JSON value; its layout and member order in a file do not matter."""
    return sha256(canonical(value))


def digest_files(folder: Path, files: Iterable[Path]) -> str:
    """Return the digest of files below `folder`: of their POSIX paths and contents."""
    # As text: a check reads hundreds of files, and paths as objects take longer than their bytes.
    above = f"{folder}{os.sep}"
    digests: dict[str, str] = {}
    for file in map(str, files):
        with open(file, "rb") as opened:
            digests[file.removeprefix(above).replace(os.sep, "/")] = sha256(opened.read())
    return digest(digests)
