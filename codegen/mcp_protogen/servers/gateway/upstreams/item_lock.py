"""The lock of one server while the gateway runs: which listed items are accepted."""

import shlex
from collections.abc import Mapping
from typing import Any, Final

from mcp_protogen.base.printable import safe_line, summarize_list
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.gateway.settings.settings import ServerSettings
from mcp_protogen.servers.gateway.upstreams.definitions import as_seen, changed_members

_KINDS: Final[Mapping[str, Kind]] = {
    "tools": Kind.TOOLS,
    "prompts": Kind.PROMPTS,
    "resources": Kind.RESOURCES,
    "resource_templates": Kind.TEMPLATES,
}
"""The kinds of items, by the names of their lists."""


class ItemLock:
    """The accepted items of a server; another lock is another object."""

    def __init__(self, settings: ServerSettings) -> None:
        self.enforces: Final = settings.lock == "enforce"
        self._name, self._mode = settings.name, settings.lock
        self._locked: Final = settings.locked
        self._file = settings.place.partition("#")[0]
        self._seen: dict[tuple[Kind, str, str, str], dict[str, Any]] = {}
        self._violations: dict[str, frozenset[str]] = {}

    @property
    def violations(self) -> int:
        """The number of items in its last lists that are not accepted."""
        return sum(map(len, self._violations.values()))

    def note_violations(self, name: str, own: frozenset[str]) -> None:
        """Note the items of a list that are not accepted."""
        self._violations[name] = own

    def knows(self, name: str, own: str) -> bool:
        """Return whether the lock has an item, which may have changed."""
        return self._locked is not None and own in self._locked.items[_KINDS[name]]

    def objection(self, name: str, own: str, entry: Any, revisions: tuple[str, str]) -> str:
        """Return why an item of a list is not accepted; empty if it is.

        `revisions` are those of the server and of the client.
        """
        if self._mode == "off":
            return ""
        effect = "hidden" if self.enforces else "not accepted"
        if self._locked is None:
            command = self._command("--accept", self._name)
            return f"all its items are {effect}, because the lock has none: {command}"
        kind = _KINDS[name]
        accepted = self._locked.items[kind].get(own)
        if accepted is None:
            why = "it is new"
        else:
            way = (kind, own, *revisions)
            if way not in self._seen:
                self._seen[way] = as_seen(kind, accepted, self._locked.revision, *revisions)
            try:
                changed = changed_members(entry.to_wire(), accepted, self._seen[way])
            except (ValueError, RecursionError):
                changed = ["its JSON"]
            if not changed:
                return ""
            # A server may choose any names of members.
            why = f"it has changed ({safe_line(summarize_list(changed, 5)):.200})"
        return f"{own!r:.199} of its {name} is {effect}, because {why}: see {self._command()}"

    def _command(self, *options: str) -> str:
        return shlex.join(("mcp-gen", "gateway", self._file, "--lock", *options))
