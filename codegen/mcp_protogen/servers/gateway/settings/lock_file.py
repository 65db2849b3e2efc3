"""The lock beside a gateway's file: the definitions of items that users have accepted.

A definition is kept as its server lists it in its own newest revision.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json, pretty
from mcp_protogen.base.file_set import finish
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.clients.contract import DEEPEST
from mcp_protogen.servers.connect.protocol import protocol

Json = dict[str, Any]

FORMAT: Final = 1
_KIND: Final = "gateway"
_DEEPEST: Final = DEEPEST + 8
"""The most levels of the whole file."""
_HINT: Final = "restore it, or remove it and accept its servers again with --lock --accept SERVER"


@dataclass(frozen=True, slots=True)
class LockedServer:
    """The accepted items of a server: definitions by name or URI, by kind, of one revision."""

    revision: str
    items: Mapping[Kind, Mapping[str, Json]]

    def as_json(self) -> Json:
        """Return it in the format of the lock."""
        lists = {
            kind.member: {key: _without(item, kind.key) for key, item in self.items[kind].items()}
            for kind in self.items
            if self.items[kind]
        }
        return {"revision": self.revision, **lists}


Locked = Mapping[str, LockedServer]
"""The content of a lock: servers by name."""


def lock_beside(gateway: str) -> Path:
    """Return the lock of a gateway's file: `gateway.lock` of `gateway.toml`."""
    return Path(gateway).with_suffix(".lock")


def read_lock(file: Path) -> Locked:
    """Return the content of a lock, empty without a file.

    Raise `ProblemError` (`bad-gateway-lock`).
    """
    finish(file)
    try:
        value = parse_json(file.read_bytes(), str(file))
    except FileNotFoundError:
        return {}
    except (OSError, ProblemError) as error:
        why = error.problems[0].message if isinstance(error, ProblemError) else error.strerror
        raise ProblemError(_bad(file, str(why))) from error
    if is_object(value) and value.get("kind") == _KIND and value.get("format") != FORMAT:
        message = f"it has the format {value.get('format')!r:.20}, not {FORMAT}"
        raise ProblemError(_bad(file, message, "/format", "update mcp-gen"))
    raise_errors(
        problem._replace(code="bad-gateway-lock", hint=_HINT)
        for problem in check_format(value, "gateway-lock", str(file), _DEEPEST)
    )
    known = {revision.id for revision in protocol().REVISIONS}
    raise_errors(
        _bad(file, f"{server['revision']!r:.40} is not a revision", pointer, "update mcp-gen")
        for name, server in value["servers"].items()
        if server["revision"] not in known
        for pointer in [jsonpointer.join("servers", name, "revision")]
    )
    return {name: _read_server(server) for name, server in value["servers"].items()}


def lock_content(locked: Locked) -> bytes:
    """Return the bytes of a lock."""
    servers = {name: server.as_json() for name, server in locked.items()}
    return pretty({"format": FORMAT, "kind": _KIND, "servers": servers})


def _read_server(server: Json) -> LockedServer:
    items = {
        kind: {key: {**item, kind.key: key} for key, item in server.get(kind.member, {}).items()}
        for kind in Kind
    }
    return LockedServer(server["revision"], items)


def _without(item: Json, member: str) -> Json:
    return {name: value for name, value in item.items() if name != member}


def _bad(file: Path, message: str, pointer: str = "", hint: str = _HINT) -> Problem:
    return Problem("bad-gateway-lock", message, str(file), pointer, hint)
