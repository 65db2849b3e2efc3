"""What servers offered when they were last used, so that their names can be completed.

Only servers that a command has met are known here. Nothing else is ever started or asked in order
to complete a word.
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
"""For how long a list is as good as a new one; seconds."""


class CachedList(NamedTuple):
    """A list as it was at a time, in seconds since 1970."""

    at: float
    listed: Sequence[JSON]

    def holds(self, now: float) -> bool:
        """Return whether it is new enough not to ask again."""
        return 0 <= now - self.at < _HOLDS


def remember(target: ServerTarget, lists: Mapping[Kind, Sequence[JSON]]) -> None:
    """Keep lists of a server that was met; other lists of it stay."""
    now = time()
    entry = {**(recall(target) or {}), **{kind: CachedList(now, lists[kind]) for kind in lists}}
    content = json.dumps(
        {kind: [cached.at, [*cached.listed]] for kind, cached in entry.items()}
    ).encode()
    write_entry(_name(target), content if len(content) <= _LARGEST else b"{}", _SHELF)


def recall(target: ServerTarget) -> Mapping[Kind, CachedList] | None:
    """Return the lists that are known of a server; None for one that was never met."""
    content = read_entry(_name(target), _SHELF)
    if content is None:
        return None
    entry: dict[str, tuple[float, list[JSON]]] = json.loads(content)
    return {Kind(kind): CachedList(at, listed) for kind, (at, listed) in entry.items()}


def _name(target: ServerTarget) -> str:
    """Return the name of an entry: a digest of what leads to the server, without any secret.

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
