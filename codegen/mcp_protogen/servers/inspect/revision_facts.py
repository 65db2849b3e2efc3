"""The revisions to inspect, and the facts about each that steps and checks need."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.value_paths import untyped_path
from mcp_protogen.pipeline.inputs import extensions, facts
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.inputs.translations import names_since, steps_between
from mcp_protogen.pipeline.ir import SessionIR, TransportIR
from mcp_protogen.runtime.core.models.base import member_at
from mcp_protogen.runtime.http.headers import PROTOCOL_VERSION
from mcp_protogen.runtime.messages.method_table import ERAS, HANDSHAKE_ERA, STATELESS_ERA, Era

Json = dict[str, Any]

LINES: Final = "lines"
HTTP: Final = "http"
EVENTS: Final = "sse"
"""The framings that probes and checks tell apart, by their names in facts."""


class Selector(NamedTuple):
    """The member of a filter that selects a notification, and the capability for it, if any."""

    member: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedRevision:
    """The facts of a revision.

    `transports` are those to try, by name, `methods` and `headers` the methods and the header
    fields of requests that it has, `batching` is whether it has batches, `paths` has its places by
    name, and `names` the methods that were renamed, by their first names. `codes` has what error
    codes of earlier revisions became, `reports` the members of reports with a token and a growing
    number, `selectors` those of the notifications of subscriptions.
    """

    era: Era
    transports: Mapping[str, TransportIR]
    methods: frozenset[str]
    headers: frozenset[str]
    batching: bool
    paths: Mapping[str, str]
    names: Mapping[str, str]
    codes: Mapping[int, int]
    reports: Mapping[str, tuple[str, str]]
    selectors: Mapping[str, Selector]


@cache
def all_revisions() -> Mapping[str, InspectedRevision]:
    """Return all revisions that can be inspected, by name, the oldest first."""
    folder = schema_folder()
    return {name: _of(name, folder) for name in facts.revisions_with_facts(folder)}


def _of(revision: str, folder: Path) -> InspectedRevision:
    stated = facts.load(folder, revision)
    document = stated.document
    since = (min(load_pins(folder)), revision, GenerationOptions((revision,)))
    return InspectedRevision(
        era=ERAS[stated.era],
        transports={transport.name: transport for transport in stated.transports},
        methods=frozenset(stated.methods),
        headers=frozenset(document["headers"]["request"]),
        batching=document["rules"]["batching"]["receive"],
        paths={place: stated.path_of(place) for place in document["places"]},
        names=names_since(folder, *since),
        codes={
            change.was: change.becomes
            for step in steps_between(folder, *since)
            for change in step.errors
            if change.direction == "up"
        },
        reports={
            method: (fact["reports"]["token"], fact["reports"]["number"])
            for method, fact in stated.methods.items()
            if fact.get("reports")
        },
        selectors=dict(_selectors(revision, stated.methods, folder)),
    )


@cache
def all_transports() -> Mapping[str, TransportIR]:
    """Return the transports of all revisions, by name."""
    found: dict[str, TransportIR] = {}
    for revision in all_revisions().values():
        found |= revision.transports
    return found


def framing_of(transport: str) -> str:
    """Return the framing of a transport; empty for one that no revision has."""
    known = all_transports().get(transport)
    return "" if known is None else known.framing


def transports_for(address: str, name: str | None) -> list[str]:
    """Return the transports to try: that of a name, by default the usual one, and what follows."""
    chosen = next(
        transport
        for transport in all_transports().values()
        if transport.address == address and name in (None, *transport.names)
    )
    return [*filter(None, (chosen.name, chosen.fallback))]


def _selectors(
    revision: str, methods: Mapping[str, Json], folder: Path
) -> Iterator[tuple[str, Selector]]:
    """Yield the notifications of a revision and its extensions that a filter selects."""
    added = [extension for extension in _extensions(folder) if revision in extension.revisions]
    extended = [extension.facts_of(revision).methods for extension in added]
    for method, fact in chain.from_iterable(stated.items() for stated in (methods, *extended)):
        place: Json = fact.get("stream") or {}
        if "member" in place:
            gates: Json = fact.get("requires") or {}
            parts = (gate.split(".") for gate in gates)
            paths = (tuple(path) for role, *path in parts if role == "server")
            yield method, Selector(place["member"], next(paths, ()))


@cache
def _extensions(folder: Path) -> tuple[ExtensionSource, ...]:
    return tuple(extensions.load(name, folder) for name in extension_names())


def newest(era: Era) -> str:
    """Return the newest revision of an era."""
    return max(name for name, revision in all_revisions().items() if revision.era is era)


def rules_revision(revision: str) -> str:
    """Return the revision whose rules apply; an unknown one counts as one with a handshake."""
    return revision if revision in all_revisions() else newest(HANDSHAKE_ERA)


def path_in(revision: str, place: str) -> str:
    """Return the path of a place in a revision; empty if it has none."""
    return all_revisions()[rules_revision(revision)].paths.get(place, "")


def method_in(revision: str, usual: str) -> str:
    """Return a method's name in a revision, given its first one."""
    return all_revisions()[rules_revision(revision)].names.get(usual, usual)


def selectors_in(revision: str) -> Mapping[str, Selector]:
    """Return the selectors of notifications of subscriptions in a revision, by method."""
    return all_revisions()[rules_revision(revision)].selectors


def codes_in(revision: str, codes: Iterable[int]) -> set[int]:
    """Return error codes with those that took their place up to a revision."""
    became = all_revisions()[rules_revision(revision)].codes
    return {*codes, *(became[code] for code in codes if code in became)}


def value_in(revision: str, place: str, owner: object, absent: object = None) -> Any:
    """Return the value at a place in a message of a revision; by default `absent`."""
    return member_at(owner, untyped_path(path_in(revision, place)), absent)


# Conditions of steps: functions of the name of a revision.


def reports_in(revision: str) -> Mapping[str, tuple[str, str]]:
    """Return the members of reports with a token and a growing number, by notification."""
    return all_revisions()[rules_revision(revision)].reports


def is_inspected(revision: str) -> bool:
    """Return whether there is a revision of this name."""
    return revision in all_revisions()


def is_stateless(revision: str) -> bool:
    """Return whether each request of a revision describes its client."""
    return is_inspected(revision) and all_revisions()[revision].era is STATELESS_ERA


def is_stateful(revision: str) -> bool:
    """Return whether sessions of a revision begin with a handshake."""
    return is_inspected(revision) and all_revisions()[revision].era is HANDSHAKE_ERA


def has_batches(revision: str) -> bool:
    """Return whether several messages may be sent at once."""
    return is_inspected(revision) and all_revisions()[revision].batching


def has_core_tasks(revision: str) -> bool:
    """Return whether a revision itself has tasks, which need no extension."""
    return is_inspected(revision) and "tasks/list" in all_revisions()[revision].methods


def has_http_sessions(revision: str) -> bool:
    """Return whether sessions over HTTP have an id."""
    return is_inspected(revision) and session_in(revision) is not None


def session_in(revision: str) -> SessionIR | None:
    """Return the sessions of a revision besides connections; None if it has none."""
    stated = all_revisions()[rules_revision(revision)]
    sessions = (transport.session for transport in stated.transports.values())
    return next((found for found in sessions if found and found.begins in stated.methods), None)


def names_agreed_revision(revision: str) -> bool:
    """Return whether requests over HTTP name the agreed revision."""
    return is_stateful(revision) and PROTOCOL_VERSION in all_revisions()[revision].headers
