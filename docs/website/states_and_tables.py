"""The page of states, decisions and tables of the protocol, all read from the code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.core.spec import Phase, Role
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcp_protogen.runtime.messages.jsonrpc import Call
from mcp_protogen.runtime.rules.lifecycle import MAY_PASS, State
from mcp_protogen.runtime.rules.server_negotiation import Offer, Route, route
from mcp_revisions import REVISIONS, load

from website import tables_of_http as http
from website.drawings.drawn import DRAWN
from website.drawings.graphs import mermaid
from website.markdown import table

_NEITHER: Final = "–"
_PHASES: Final[Mapping[Phase, str]] = {
    "any": "any time, such as `ping`",
    "before_ready": "before the connection is open",
    "ready": "once it is open",
}
_RULES: Final = {
    "batching": "arrays of messages may be received",
    "server_requests": "servers send requests of their own",
    "polling": "a server may close a stream, and the client reconnects",
    "bad_arguments": "invalid arguments of a tool are answered with",
    "resource_not_found": "the code for an unknown resource",
}
"""Texts of the rules that differ."""
_ERA: Final = {
    "opened_by": "the server answers with its capabilities to",
    "has_handshake": "a connection must be opened first",
    "remembers_client": "the client's capabilities apply to its connection",
    "has_listen_streams": "changes go to streams that asked for them",
    "signs_results": "results name their server",
    "names_missing_capabilities": "an error names the capabilities that a client lacks",
}


def page() -> str:
    """Return the page as Markdown."""
    parts = [
        "# States and tables\n\nDrawn and listed from the tables that the runtime uses.\n",
        "## Opening a connection\n\nUp to 2025-11-25, a connection begins with a handshake."
        f" See [negotiation](negotiation.md#the-handshake).\n\n{_drawn('handshake')}",
        f"Who may send a message in which state:\n\n{_may_pass()}",
        f"## What a server makes of a first message\n\n{_routes()}",
        "## Finding a revision\n\nA client that speaks revisions of both kinds asks for the newer"
        f" kind first. See [negotiation](negotiation.md#finding-the-revision).\n\n"
        f"{_drawn('finding')}",
        "## A task\n\nThe statuses are the same for both kinds of [tasks](tasks.md). A task that"
        f" has ended never changes again.\n\n{_drawn('task')}",
        f"## What differs between revisions\n\n{_differences()}",
        "## Transports\n\nStandard input and output are the same in all revisions. Over HTTP, each"
        f" has the fields that its pages name, here with how much they are required. {http.NOTE}"
        f"\n\n{http.fields()}",
        "The status of an answer over HTTP, if it is an error that another one than 200 goes with:"
        f"\n\n{http.statuses()}",
        "## Methods\n\nWho sends each request or notification, in which revision.\n\n"
        f"{_methods()}",
        "## Capabilities\n\nWhat each side can declare, by revision. A capability that is implied"
        f" also counts if the object around it is empty.\n\n{_capabilities()}",
        f"## Required capabilities\n\nWhat a message needs, in the newest revision that has the"
        f" method.\n\n{_requirements()}",
        "## What gets through\n\nWhat a server class of one revision and a client of another can"
        " do together was measured: see [the matrix](translation.md#what-gets-through)."
        " Peers of others were talked to, too: see"
        " [what schemas say](generated-artifacts.md#what-the-tests-say).\n",
    ]
    return "\n".join(parts)


def _drawn(name: str) -> str:
    return f"<!-- drawn: {name} -->\n```mermaid\n{mermaid(DRAWN[name]())}```\n"


def _senders(senders: Iterable[Role]) -> str:
    return " and ".join(sorted(senders)) or "neither"


def _may_pass() -> str:
    rows = (
        (f"`{state.name}`", *(_senders(MAY_PASS[state, phase]) for phase in _PHASES))
        for state in State
    )
    return table(("state", *_PHASES.values()), rows)


def _routes() -> str:
    old, new = REVISIONS[0].id, REVISIONS[-1].id
    offers = {
        "a server of both kinds": Offer({old: "handshake", new: "stateless"}),
        "with a handshake only": Offer({old: "handshake"}),
        "without one only": Offer({new: "stateless"}),
    }
    named: dict[str, Any] = {PROTOCOL_VERSION: new, CLIENT_CAPABILITIES: {}}
    unknown = {**named, PROTOCOL_VERSION: "2000-01-01"}
    calls = {
        "`initialize`": _call("initialize", {"protocolVersion": old}),
        "`ping`": _call("ping", {}),
        "`tools/list`, no revision in `_meta`": _call("tools/list", {}),
        f"`tools/list`, {new} in `_meta`": _call("tools/list", {"_meta": named}),
        "`tools/list`, an unknown revision in `_meta`": _call("tools/list", {"_meta": unknown}),
        "a notification, no revision in `_meta`": _call("notifications/initialized", {}, id=None),
    }
    rows = (
        (what, *(_route(call, offer) for offer in offers.values())) for what, call in calls.items()
    )
    return table(("first message", *offers), rows)


def _call(method: str, params: dict[str, Any], id: int | None = 1) -> Call:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return Call(id, method, params, params.get("_meta", {}), message)


def _route(call: Call, offer: Offer) -> str:
    """Return the action of a server for a first message."""
    try:
        found = route(call, offer, handshaken=False)
    except RemoteError as error:
        return f"refused, {error.code}"
    if isinstance(found, Route):
        return found.value
    return f"{found}, without a handshake"


def _tables() -> Mapping[str, Any]:
    """Return the method table of each revision of the generated package, by name."""
    tables = (load(revision.id).methods.TABLE for revision in REVISIONS)
    return {table.revision: table for table in tables}


def _differences() -> str:
    tables = _tables()
    rows = [("the kind of revision", *(table.era.name for table in tables.values()))]
    for name, said in _ERA.items():
        rows.append((said, *(_show(getattr(table.era, name)) for table in tables.values())))
    for name, said in _RULES.items():
        rows.append((said, *(_show(getattr(table.rules, name)) for table in tables.values())))
    return table(("what", *tables), rows)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else _NEITHER
    return f"`{value}`" if isinstance(value, int) or "/" in str(value) else str(value)


def _methods() -> str:
    tables = _tables()
    kinds = ("requests", "notifications")
    names = sorted(
        {name for table in tables.values() for kind in kinds for name in getattr(table, kind)}
    )
    rows = (
        (f"`{name}`", *(_direction(table, name) for table in tables.values())) for name in names
    )
    return table(("method", *tables), rows)


def _direction(of: Any, name: str) -> str:
    spec = of.requests.get(name) or of.notifications.get(name)
    return _senders(spec.senders) if spec else _NEITHER


def _capabilities() -> str:
    declared = {
        name: {capability.name: capability for of in _of(name).values() for capability in of}
        for name in _tables()
    }
    names = sorted({name for found in declared.values() for name in found})
    rows = (
        (f"`{name}`", *(_show_capability(found.get(name)) for found in declared.values()))
        for name in names
    )
    return table(("capability", *declared), rows)


def _of(revision: str) -> Mapping[Role, Sequence[Any]]:
    declared: Mapping[Role, Sequence[Any]] = load(revision).capabilities.CAPABILITIES
    return declared


def _show_capability(capability: Any) -> str:
    if capability is None:
        return _NEITHER
    return "implied" if capability.implied else "yes"


def _requirements() -> str:
    newest: dict[str, tuple[str, Any]] = {}
    for revision, revision_table in _tables().items():
        for name, spec in {**revision_table.requests, **revision_table.notifications}.items():
            newest[name] = revision, spec
    rows = (row for name in sorted(newest) for row in _needs(name, *newest[name]))
    return table(("message", "revision", "sender", "needs", "if", "level"), rows)


def _needs(name: str, revision: str, spec: Any) -> Iterator[Sequence[str]]:
    for requirement in spec.requires:
        when = " or ".join(f"`{case}`" for case in requirement.when) or "always"
        capability = f"`{requirement.capability.name}`"
        yield f"`{name}`", revision, requirement.sender, capability, when, requirement.level
