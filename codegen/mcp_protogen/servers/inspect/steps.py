"""Probes and their steps: the messages to send, and the answers to wait for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from mcp_protogen import __version__
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND
from mcp_protogen.runtime.messages import envelope
from mcp_protogen.servers.inspect.revision_facts import framing_of, is_inspected, method_in
from mcp_protogen.servers.inspect.transcript import Transcript

_CLIENT: Final = {"name": "mcp-gen inspect", "version": __version__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeStep:
    """The messages to send at once, and the answers to wait for.

    If no answer need come, as for notifications, `last` is a last request whose answer ends the
    step. Over HTTP the answer to the POST does that. `until` is a notification of the server that
    also ends the step. `headers` replace those of an ordinary request, and None leaves one out;
    `method` is that of HTTP, and `url` is an address other than the server's. After `within`
    seconds, missing answers are ignored.
    """

    messages: tuple[Any, ...] = ()
    waits: tuple[Any, ...] = ()
    last: dict[str, Any] | None = None
    until: str = ""
    method: str = "POST"
    headers: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    url: str = ""
    within: float = 0.0


def awaiting(request: dict[str, Any], **step: Any) -> ProbeStep:
    """Return a step that waits for the answer to a request."""
    return ProbeStep(messages=(request,), waits=(request["id"],), **step)


@dataclass(slots=True)
class PlanClient:
    """A client on one connection: it knows the messages so far, and makes the next ones.

    `calls` are the tools that may be called, with their arguments; with `reading` also those that
    declare to only read.
    """

    transcript: Transcript
    calls: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reading: bool = False
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def stateless(self) -> bool:
        """Return whether each request describes its client."""
        return self.transcript.is_stateless

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return a request as a careful client would write it; `method` is a usual name."""
        given = dict(params or {})
        if self.stateless:
            given["_meta"] = {**self.meta(), **given.pop("_meta", {})}
        name = method_in(self.transcript.revision, method)
        head = {"jsonrpc": "2.0", "id": next(self.ids), "method": name}
        return {**head, "params": given} if given else head

    def meta(self, revision: str = "") -> dict[str, Any]:
        """Return the description of the client for each request of the stateless era."""
        return {
            envelope.PROTOCOL_VERSION: revision or self.transcript.revision,
            envelope.CLIENT_INFO: _CLIENT,
            envelope.CLIENT_CAPABILITIES: {},
        }

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **step: Any) -> ProbeStep:
        """Return a step that makes a request and waits for the answer."""
        return awaiting(self.request(method, params), **step)

    def tell(self, *messages: Any, **step: Any) -> ProbeStep:
        """Return a step with messages that need not be answered."""
        last = self.request(self.harmless)
        return ProbeStep(messages=messages, waits=(last["id"],), last=last, **step)

    @property
    def harmless(self) -> str:
        """A request that every server answers."""
        return "server/discover" if self.stateless else "ping"

    def begin(self) -> ProbeStep:
        """Return the first step of a connection."""
        if self.stateless:
            return self.ask("server/discover")
        revision = self.transcript.revision
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _CLIENT}
        return self.ask("initialize", params)


Make = Callable[[PlanClient], ProbeStep | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A named test of a server; `make` returns its next step, or None where it does not apply.

    `of` says whether it is for a revision, and `framings` for which transports, by default all. A
    probe that `repeats` is taken until it no longer applies. `declared` is the capability that it
    needs; with `undeclared`, the server must not declare that.
    """

    name: str
    make: Make
    of: Callable[[str], bool] = is_inspected
    framings: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    undeclared: bool = False
    repeats: bool = False

    def applies(self, transcript: Transcript) -> bool:
        """Return whether a connection has this probe at all."""
        framing = framing_of(transcript.transport)
        if not self.of(transcript.revision) or framing not in (self.framings or (framing,)):
            return False
        return not self.declared or transcript.declares(*self.declared) is not self.undeclared


def request_step(
    name: str,
    method: str = "",
    params: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str | None] | None = None,
    **about: Any,
) -> Probe:
    """Return a probe with one request, by default one that every server answers."""
    return Probe(
        name=name,
        make=lambda client: client.ask(method or client.harmless, params, headers=headers or {}),
        **about,
    )


def telling(name: str, *messages: Any, **about: Any) -> Probe:
    """Return a probe with messages that need not be answered."""
    return Probe(name=name, make=lambda client: client.tell(*messages), **about)


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a notification."""
    head = {"jsonrpc": "2.0", "method": method}
    return {**head, "params": dict(params)} if params else head


def reply_to(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer of a client without capabilities; None if no answer is needed."""
    if "method" not in message or "id" not in message:
        return None
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**head, "result": {}}
    return {**head, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
