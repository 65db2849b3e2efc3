"""The names and URIs of one server, as clients of the gateway use them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Final

from mcp_protogen.base.problems import Problem
from mcp_protogen.runtime.toolkit.items import is_private
from mcp_protogen.runtime.toolkit.mounts import Prefix
from mcp_protogen.servers.gateway.settings.filters import Filters
from mcp_protogen.servers.gateway.settings.settings import Patterns, ServerSettings

LONGEST: Final = 128
"""The most characters of a name (2025-11-25, server/tools, "Tool Names")."""

LOG_IN: Final = "gateway_log_in"
"""The tool that asks a user to log in to a server; a tool of the server cannot have this name."""

# How many names of a server are kept, and how many characters they have at most.
MOST_KNOWN: Final = 1000
MOST_CHARACTERS: Final = 300

_OTHERS: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ServerNames(Prefix):
    """Each item has one name here; `strip` knows no name of a hidden item."""

    renamed: Mapping[str, str]
    """New names, by own names."""
    keeps_uris: bool
    filters: Filters

    def key(self, kind: str, own: str) -> str:
        if is_uri(kind):
            # Clients may read http(s) URIs by themselves (2025-11-25, "Common URI Schemes").
            return own if self.keeps_uris or not is_private(own) else super().key(kind, own)
        return self.renamed.get(own) or super().key(kind, own)

    def strip(self, kind: str, key: str) -> str | None:
        # Clients may send any text.
        strip = self._known if len(key) <= MOST_CHARACTERS else self._strip
        return strip(kind, key)

    @cached_property
    def _known(self) -> Callable[[str, str], str | None]:
        """The same, of recent names."""
        return lru_cache(maxsize=MOST_KNOWN)(self._strip)

    def _strip(self, kind: str, key: str) -> str | None:
        own = self._own(kind, key)
        return own if own is not None and self.filters.offer(kind, own) else None

    def _own(self, kind: str, key: str) -> str | None:
        if is_uri(kind):
            return key if self.keeps_uris or not is_private(key) else super().strip(kind, key)
        for own, new in self.renamed.items():
            if new == key:
                return own
        plain = super().strip(kind, key)
        return None if plain in self.renamed else plain


def is_uri(kind: str) -> bool:
    """Return whether items of a kind, or of a list, have URIs in place of names."""
    return kind.startswith("resource")


def usual_prefix(server: str) -> str:
    """Return the prefix of a server by its name, which hosts show and which may be any text."""
    return _OTHERS.sub("-", server).strip("-") or server


def names_of(server: ServerSettings) -> ServerNames:
    """Return the names of a server."""
    allow: Patterns = server.allow
    if server.login is not None and "tools" in allow:
        tools: Patterns = {"tools": (*allow["tools"], LOG_IN)}
        allow = {**allow, **tools}
    filters = Filters(allow, server.deny)
    keeps_uris = server.uris == "keep"
    return ServerNames(server.prefix, server.separator, server.rename, keeps_uris, filters)


def find_ambiguous(servers: Sequence[ServerSettings]) -> Iterator[Problem]:
    """Yield the settings by which a name could belong to two items."""
    for server in servers:
        yield from _ambiguous_renames(server, servers)
    for server, rival in combinations(servers, 2):
        if names_of(server).overlaps(names_of(rival)):
            message = f"items of {server.name} and {rival.name} could have the same name"
            yield server_problem(rival, message, "give one another prefix or separator")


def _ambiguous_renames(
    server: ServerSettings, servers: Sequence[ServerSettings]
) -> Iterator[Problem]:
    for own, new in server.rename.items():
        for rival in servers:
            start = f"{rival.prefix}{rival.separator}"
            if not rival.prefix or not new.startswith(start):
                continue
            rest = new.removeprefix(start)
            if rival is not server or (rest not in server.rename and rest != own):
                wrong = f"{own} would be called {new}, which could be {rest!r} of {rival.name}"
                yield server_problem(server, wrong, f"choose a name without {start!r} in `rename`")


def server_problem(server: ServerSettings, message: str, hint: str) -> Problem:
    """Return a problem with the settings of a server."""
    file, _, pointer = server.place.partition("#")
    return Problem("bad-gateway-config", message, file, pointer, hint)
