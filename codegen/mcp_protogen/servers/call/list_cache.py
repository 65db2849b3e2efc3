"""A cache of the lists of servers, for the completion of names.

Only servers that a command has used are here. Completion never starts or asks any other server.
"""

import json
import os
from collections.abc import Mapping, Sequence
from time import time
from typing import Final, NamedTuple

from mcp_protogen.base.cache_entries import read_entry, write_entry
from mcp_protogen.base.canonical import digest, sha256
from mcp_protogen.servers.call.connections import JSON
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.connect.server_target import ServerTarget

_SHELF: Final = "listing"
_LARGEST: Final = 512 * 1024
_HOLDS: Final = 60.0
"""The time for which a list counts as new; seconds."""


class CachedList(NamedTuple):
    """A list and its time, in seconds since 1970."""

    at: float
    listed: Sequence[JSON]

    def holds(self, now: float) -> bool:
        """Return whether the list still counts as new."""
        return 0 <= now - self.at < _HOLDS


def remember(target: ServerTarget, lists: Mapping[Kind, Sequence[JSON]]) -> None:
    """Store lists of a server; its other lists stay."""
    now = time()
    entry = {**(recall(target) or {}), **{kind: CachedList(now, lists[kind]) for kind in lists}}
    content = json.dumps(
        {kind: [cached.at, [*cached.listed]] for kind, cached in entry.items()}
    ).encode()
    write_entry(_name(target), content if len(content) <= _LARGEST else b"{}", _SHELF)


def recall(target: ServerTarget) -> Mapping[Kind, CachedList] | None:
    """Return the stored lists of a server; None for an unknown server."""
    content = read_entry(_name(target), _SHELF)
    if content is None:
        return None
    entry: dict[str, tuple[float, list[JSON]]] = json.loads(content)
    return {Kind(kind): CachedList(at, listed) for kind, (at, listed) in entry.items()}


def _name(target: ServerTarget) -> str:
    """Return the name of an entry: a digest of the server's address, without any secret.

    A configuration counts with its content, because it says which program is started.
    """
    config = target.config
    return digest(
        {
            "name": target.name,
            "config": None if config is None else _content(config),
            "headers": sorted(target.headers),
            "env": sorted(target.env),
            "cwd": str(target.cwd or ""),
            "folder": os.getcwd(),
            "inherit": target.inherit,
        }
    )


def _content(config: "os.PathLike[str]") -> str:
    try:
        with open(config, "rb") as file:
            return sha256(file.read())
    except OSError:
        return ""
