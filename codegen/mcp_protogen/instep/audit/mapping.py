"""The mapping file: matches that neither names nor shapes show.

    [types]                                    TOML, or the same as JSON
    ContentBlock = "acme.messages.Block"       this stands for it
    Icons = false                              leave it out of the audit
    Result = { use = false, reason = "..." }   the same, with the reason

Described by `schema/formats/audit-mapping.schema.json`.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean

_REASON = "left out by the mapping file"


@dataclass(frozen=True, slots=True)
class TypeMapping:
    """The keys of the SDK's types by type of the schema; omitted types, with the reasons."""

    keys: Mapping[str, str]
    left_out: Mapping[str, str]


NO_MAPPING = TypeMapping({}, {})


def read_mapping(file: Path, types: Iterable[str], keys: Iterable[str]) -> TypeMapping:
    """Return the mapping in a file, for types of the schema and keys of an SDK.

    Raise `ProblemError` (`bad-mapping`) with every entry that cannot be used.
    """
    titles = {key.replace(":", "."): key for key in keys}
    known = set(types)
    found: dict[str, str] = {}
    left_out: dict[str, str] = {}
    problems: list[Problem] = []
    for name, entry in _entries(file).items():
        use, reason = _read(entry)
        if name not in known:
            problems.append(_bad(f"the revision has no type {name}", file, name, known))
        elif use is False:
            left_out[name] = reason or _REASON
        elif not isinstance(use, str):
            message = "this is neither the name of a type of the SDK nor false"
            problems.append(_bad(message, file, name, ()))
        elif use not in titles:
            problems.append(_bad(f"the SDK has no type {use}", file, name, titles, use))
        else:
            found[name] = titles[use]
    if problems:
        raise ProblemError(*problems)
    return TypeMapping(found, left_out)


def _read(entry: Any) -> tuple[Any, str]:
    if is_object(entry) and set(entry) <= {"use", "reason"}:
        return entry.get("use"), str(entry.get("reason", ""))
    return entry, ""


def _entries(file: Path) -> Mapping[str, Any]:
    try:
        content = file.read_bytes()
        if file.suffix == ".json":
            document = parse_json(content, str(file))
        else:
            document = tomllib.loads(content.decode())
    except (OSError, ValueError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise ProblemError(Problem("bad-mapping", message, str(file))) from None
    table = document.get("types") if is_object(document) else None
    if not is_object(table) or set(document) != {"types"}:
        hint = 'it looks like this: [types], then lines such as Tool = "acme.types.Tool"'
        message = "a mapping file has one table, types"
        raise ProblemError(Problem("bad-mapping", message, str(file), hint=hint))
    return table


def _bad(
    message: str, file: Path, name: str, known: Iterable[str], meant: str | None = None
) -> Problem:
    hint = did_you_mean(meant or name, known)
    if len(hint) > 300:
        hint = "mcp-gen audit SDK --format json lists all matches"
    return Problem("bad-mapping", message, str(file), f"/types/{name}", hint)
