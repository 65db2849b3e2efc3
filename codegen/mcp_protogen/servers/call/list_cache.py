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
from mcp_protogen.servers.connect.named_server import NamedServer

_FOLDER: Final = "listing"
_LARGEST: Final = 512 * 1024
_FRESH: Final = 60.0
"""The time for which a list counts as new; seconds."""


class CachedList(NamedTuple):
    """A list and its time, in seconds since 1970."""

    at: float
    listed: Sequence[JSON]

    def is_fresh(self, now: float) -> bool:
        """Return whether the list still counts as new."""
        return 0 <= now - self.at < _FRESH


def remember(server: NamedServer, lists: Mapping[Kind, Sequence[JSON]]) -> None:
    """Store lists of a server; its other lists stay."""
    now = time()
    entry = {**(recall(server) or {}), **{kind: CachedList(now, lists[kind]) for kind in lists}}
    content = json.dumps(
        {kind: [cached.at, [*cached.listed]] for kind, cached in entry.items()}
    ).encode()
    write_entry(_name(server), content if len(content) <= _LARGEST else b"{}", _FOLDER)


def recall(server: NamedServer) -> Mapping[Kind, CachedList] | None:
    """Return the stored lists of a server; None for an unknown server."""
    content = read_entry(_name(server), _FOLDER)
    if content is None:
        return None
    entry: dict[str, tuple[float, list[JSON]]] = json.loads(content)
    return {Kind(kind): CachedList(at, listed) for kind, (at, listed) in entry.items()}


def _name(server: NamedServer) -> str:
    """Return the name of an entry: a digest of the server's address, without any secret.

    A configuration counts with its content, because it says which program is started.
    """
    config = server.config
    return digest(
        {
            "name": server.name,
            "config": None if config is None else _content(config),
            "transport": server.transport,
            "headers": sorted(server.headers),
            "env": sorted(server.env),
            "cwd": str(server.cwd or ""),
            "folder": os.getcwd(),
            "inherit": server.inherit,
        }
    )


def _content(config: "os.PathLike[str]") -> str:
    try:
        with open(config, "rb") as file:
            return sha256(file.read())
    except OSError:
        return ""
