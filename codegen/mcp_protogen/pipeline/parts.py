"""The optional parts of a generated package."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.pipeline.part_contents import (
    CONTENTS,
    EXTENDED,
    EXTENSION,
    ROLES,
    SEVERAL,
    Contents,
    Exports,
    contents_of,
)

if TYPE_CHECKING:
    from mcp_protogen.pipeline.ir import TransportIR

ALL: Final = "all"
NONE: Final = "none"
DEFAULT: Final = ("stdio", "testing", "toolkit")
"""The default parts of a new package."""

PARTS: Final[Mapping[str, frozenset[str]]] = {
    "stdio": frozenset({"client", "server"}),
    "http-server": frozenset({"server"}),
    "http-client": frozenset({"client"}),
    "toolkit": frozenset({"server"}),
    "bridge": frozenset({"client", "server"}),
    "testing": frozenset({"client", "server"}),
    "tool-client": frozenset({"client"}),
    "telemetry": frozenset(),
    "auth": frozenset(),
    "tasks": frozenset(),
    "skills": frozenset(),
    "redis": frozenset({"server"}),
    "postgres": frozenset({"server"}),
}
"""All parts, and the roles that each of them needs."""

_GENERATED: Final[Mapping[str, tuple[str, ...]]] = {
    "app": ("App", "app"),
    "bridge": ("Bridge",),
    "client": ("Client", "client"),
    "server": ("Server", "Session", "server"),
    "translate": ("translate",),
}
"""The exported names of each generated module, in the package or its revisions."""
INSTANCES: Final[Mapping[str, str]] = {
    "client_of": "ConnectInMemory",
    "connect": "Connect",
    "connect_config": "ConnectConfig",
    "connect_http": "ConnectHttp",
    "connect_in_memory": "ConnectInMemory",
}
"""Names of instances in a package, and their exported classes."""
OF_REVISIONS: Final = frozenset(
    name for of in ("app", "client", "server") for name in _GENERATED[of]
)
"""The names that are in the revisions."""


class RuntimeClass(NamedTuple):
    """A class of the runtime, with its module, and the part that brings it.

    Without a part, it comes with the extension.
    """

    part: str
    module: str
    name: str


CLIENTS_OF_EXTENSIONS: Final[Mapping[str, RuntimeClass]] = {
    "io.modelcontextprotocol/server-card": RuntimeClass(
        "http-client", "features.server_card.reading", 'ReadsCard["m.ServerCard"]'
    ),
    "io.modelcontextprotocol/tasks": RuntimeClass(
        "tasks", "features.tasks.client.calls", "TaskCalls"
    ),
    "io.modelcontextprotocol/ui": RuntimeClass(
        "", "features.ui.host", 'UiHost["m.McpUiToolMeta", "m.McpUiResourceMeta"]'
    ),
}
"""The special base of an extension's client, by identifier."""
SERVERS_OF_EXTENSIONS: Final[Mapping[str, RuntimeClass]] = {
    "io.modelcontextprotocol/server-card": RuntimeClass(
        "http-server", "features.server_card.serving", 'ServesCard["m.ServerCard", "m.Remote"]'
    ),
}
"""The special base of an extension's server, by identifier."""
ITEMS_OF_EXTENSIONS: Final[Mapping[str, str]] = {"io.modelcontextprotocol/ui": "features.ui.items"}
"""The module of the runtime that makes items of toolkits for an extension, by identifier."""


class PartSelection(NamedTuple):
    """The parts and extensions of one package, and the conditions that facts of it meet."""

    parts: Collection[str]
    several: bool = False
    extensions: Collection[str] = ()
    transports: tuple["TransportIR", ...] = ()
    by_facts: frozenset[str] = frozenset()

    @property
    def exports(self) -> Exports:
        """The exported names of the runtime, by module, sorted."""
        found: dict[str, set[str]] = {}
        for module, names in (export for contents in self._contents for export in contents.exports):
            found.setdefault(module, set()).update(names)
        return tuple((module, tuple(sorted(found[module]))) for module in sorted(found))

    @property
    def modules(self) -> frozenset[str]:
        """The generated modules; for modules of a revision, without its folder."""
        return frozenset(module for contents in self._contents for module in contents.modules)

    @property
    def opening(self) -> Mapping[str, Mapping[str, str]]:
        """The functions that open connections to each kind of address, by names of transports."""
        tables: dict[str, dict[str, str]] = {"program": {}, "url": {}}
        for transport in self.transports:
            opener = transport.client.rpartition(".")[2]
            for name in transport.names:
                tables[transport.address].setdefault(name, opener)
        return tables

    @property
    def serving(self) -> Mapping[str, Mapping[str, str]]:
        """The functions of servers by our name of a transport, for each kind of address."""
        tables: dict[str, dict[str, str]] = {"program": {}, "url": {}}
        for transport in self.transports:
            if transport.server:
                function = transport.server.rpartition(".")[2]
                tables[transport.address][transport.names[0]] = function
        return tables

    def has_runtime(self, module: str) -> bool:
        """Return whether a module of the runtime, or the folder of one, is in the package."""
        return not module or any(
            f"{module}.".startswith(f"{place}.") or f"{place}.".startswith(f"{module}.")
            for contents in self._contents
            for place in contents.places
        )

    @property
    def _contents(self) -> list[Contents]:
        roles = frozenset[str]().union(*(PARTS[part] for part in self.parts))
        has = {*self.parts, *roles, *([ROLES] if roles else ()), *([SEVERAL] * self.several)}
        has |= {EXTENDED} if self.extensions else set()
        has |= self.by_facts
        has |= {f"{EXTENSION}{name}" for name in self.extensions}
        added = chain.from_iterable(map(contents_of, self.transports))
        return [contents for contents in (*CONTENTS, *added) if contents.when <= has]


def missing_names(selection: PartSelection) -> dict[str, str]:
    """Return the options that would add each name that a package of `selection` lacks."""
    exported = _names(selection)
    brought: dict[str, list[str]] = {}
    # Some names need two parts, or a part and a role, written with a comma.
    conditions = (contents.when for contents in CONTENTS)
    pairs = [_parts_for(when) for when in conditions if len(when) > 1 and when & {*PARTS}]
    for parts in [[part] for part in PARTS] + pairs:
        added = PartSelection({*selection.parts, *parts}, selection.several)
        for name in _names(added._replace(transports=selection.transports)) - exported:
            # Smaller combinations come first.
            if not any(set(choice.split(",")) <= {*parts} for choice in brought.get(name, ())):
                brought.setdefault(name, []).append(",".join(parts))
    hints = {name: f"--with {' or '.join(parts)}" for name, parts in brought.items()}
    for name in _names(selection._replace(several=True)) - exported:
        hints[name] = "a second --revision"
    return dict(sorted(hints.items()))


def _parts_for(when: frozenset[str]) -> list[str]:
    """Return the parts in a condition, with a part that has the role if the others lack it."""
    parts = when & {*PARTS}
    return sorted({*parts, "stdio"} if when - parts else parts)


def _names(selection: PartSelection) -> set[str]:
    exported = {name for _, names in selection.exports for name in names}
    exported |= {name for name, of in INSTANCES.items() if of in exported}
    return exported.union(*(_GENERATED.get(module, ()) for module in selection.modules))


def parse_parts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts in a list of names, which may contain commas, sorted.

    Raise `ProblemError`: `unknown-part`, and `conflicting-options` for `none` with others.
    """
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    all_names = {*PARTS, ALL, NONE}
    if unknown := sorted((names or {""}) - all_names):
        raise ProblemError(*(_unknown(name, all_names) for name in unknown))
    if NONE in names and len(names) > 1:
        choices = ", ".join(sorted(names - {NONE}))
        raise conflict(f"none cannot be combined with other parts: {choices}")
    return tuple(sorted(PARTS)) if ALL in names else tuple(sorted(names - {NONE}))


def _unknown(name: str, known: Iterable[str]) -> Problem:
    hint = did_you_mean(name, known)
    return Problem("unknown-part", f"no part of a package is called {name!r:.80}", hint=hint)


def record_parts(parts: Collection[str]) -> list[str]:
    """Return the parts for a lock; `all` stands for all parts, also those of later versions."""
    return [ALL] if {*parts} >= PARTS.keys() else sorted(parts)


def read_parts(value: object) -> tuple[str, ...]:
    """Return the parts in a lock: all, if it is older than parts.

    Raise `TypeError` for unknown values.
    """
    if value is None or value == [ALL]:
        return tuple(sorted(PARTS))
    names = tuple(part for part in PARTS if is_array(value) and part in value)
    if not is_array(value) or len(names) < len(value):
        raise TypeError(f"its parts are {value!r:.80}")
    return tuple(sorted(names))
