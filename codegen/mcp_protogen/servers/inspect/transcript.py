"""Transcripts of all messages to and from a server, in exchanges; rules read only these."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.http.headers import LAST_EVENT_ID
from mcp_protogen.runtime.messages.reading import read_values
from mcp_protogen.runtime.messages.repairing import Repair
from mcp_protogen.servers.connect.traffic import PassedMessage
from mcp_protogen.servers.inspect import revision_facts
from mcp_protogen.servers.inspect.messages import list_member

UNKNOWN_REVISION: Final = "1999-01-01"
"""An unknown revision, to see which revision the server offers instead."""

TIMEOUT: Final = "timeout"
"""The outcome of an exchange without the answer in time."""
CLOSED: Final = "closed"
"""The outcome of an exchange in which the server ended the connection."""
FLOOD: Final = "flood"
"""The outcome of an exchange that exceeds the limit of an inspection."""
UNREACHABLE: Final = "unreachable"
"""The outcome of an exchange that the network or the operating system did not allow."""
KILLED: Final = "killed"
"""The outcome of the end of a process that did not end by itself."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One step of a probe, and all messages until its end.

    `probe` is the name of the probe. `messages` are those of both sides, in order; the first is the
    subject of the step. `method`, `headers`, `status` and `answered` are for HTTP: the request's
    method and header fields, the status, and the header fields of the answer; `events` are the ids
    of the events in it, and `primed` is whether the first of them that has an id or data has only
    an id, None if none came; `replaced` is whether bytes in them were not UTF-8. `outcome` is empty
    after success, and `detail` says more about it.
    """

    probe: str
    messages: tuple[PassedMessage, ...] = ()
    method: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 0
    answered: Mapping[str, str] = field(default_factory=dict[str, str])
    events: tuple[str, ...] = ()
    primed: bool | None = None
    replaced: bool = False
    outcome: str = ""
    detail: str = ""

    @property
    def is_resumed(self) -> bool:
        """Return whether it resumes a stream, so that messages may come again."""
        return LAST_EVENT_ID in self.headers

    @cached_property
    def request(self) -> dict[str, Any]:
        """The first message of the client; empty if it is not a JSON object."""
        first = next(self._texts("client"), None)
        value = first.values[0] if first and first.values else None
        return value if is_object(value) else {}

    @property
    def rpc_method(self) -> str:
        """The method of that message; the name of the probe if it has none."""
        method = self.request.get("method")
        return method if isinstance(method, str) else self.probe

    @cached_property
    def sent_values(self) -> tuple[Any, ...]:
        """All JSON values that the client sent."""
        return tuple(value for text in self._texts("client") for value in text.values)

    @property
    def calls(self) -> Iterator[dict[str, Any]]:
        """All messages that the client sent, also those in an array."""
        for text in self._texts("client"):
            yield from text.objects

    @property
    def asked_ids(self) -> Iterator[Any]:
        """The ids of all requests of the client, also of those that are not JSON."""
        for text in self._texts("client"):
            yield from text.ids

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """All readable values of the server, in order."""
        return tuple(value for text in self._texts("server") for value in text.values)

    @cached_property
    def received(self) -> tuple[dict[str, Any], ...]:
        """The messages of the server, also those that came in an array."""
        texts = self._texts("server")
        return tuple(filter(self._is_message, chain.from_iterable(text.objects for text in texts)))

    @cached_property
    def noise(self) -> tuple[bytes, ...]:
        """The texts of the server that are not messages, not even unreadable ones."""
        return tuple(text.data for text in self._texts("server") if not self._has_message(text))

    @cached_property
    def flawed_messages(self) -> tuple["TranscriptText", ...]:
        """The messages of the server that are not strict JSON."""
        texts = self._texts("server")
        return tuple(text for text in texts if text.flaws and self._has_message(text))

    def notifications(self, method: str) -> Iterator[dict[str, Any]]:
        """Yield the notifications of a method, except for those that may have come before."""
        found = () if self.is_resumed else self.received
        return (message for message in found if message.get("method") == method)

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The answer to the first message; empty without one."""
        first = next(self._texts("client"), TranscriptText(b"", ()))
        wanted = next(first.ids, None) if first.flaws else self.request.get("id")
        answers = (message for message in self.received if "method" not in message)
        found: dict[str, Any] = {}
        return next((answer for answer in answers if same_id(answer.get("id"), wanted)), found)

    @property
    def result(self) -> dict[str, Any] | None:
        """The result in the answer; None without one."""
        found = self.answer.get("result")
        return found if is_object(found) else None

    @property
    def error(self) -> dict[str, Any]:
        """The error in the answer, or one without an id; empty without an error."""
        answers = [
            self.answer,
            *(message for message in self.received if message.get("id") is None),
        ]
        found: dict[str, Any] = {}
        return next(
            (answer["error"] for answer in answers if is_object(answer.get("error"))), found
        )

    def _is_message(self, value: Mapping[str, Any]) -> bool:
        """Return whether an object claims to be JSON-RPC; a refusal over HTTP may have any body."""
        usual = "method" in value or ("id" in value and ("result" in value or "error" in value))
        return "jsonrpc" in value or (usual and self.status < 300)

    def _has_message(self, text: "TranscriptText") -> bool:
        if any(isinstance(flaw, ParseError) and flaw.meant != "text" for flaw in text.flaws):
            return True
        return any(map(self._is_message, text.objects))

    def _texts(self, sender: Role) -> Iterator["TranscriptText"]:
        return (text_of(message.data) for message in self.messages if message.sender == sender)


class TranscriptText(NamedTuple):
    """A piece from one side: its JSON values, and the faults that were repaired, or the error."""

    data: bytes
    values: tuple[Any, ...]
    flaws: tuple[Repair | ParseError, ...] = ()

    @property
    def objects(self) -> Iterator[dict[str, Any]]:
        """The objects among the values, also those in an array."""
        members = (value if is_array(value) else [value] for value in self.values)
        return filter(is_object, chain.from_iterable(members))

    @property
    def ids(self) -> Iterator[Any]:
        """The ids in it, also one in a text that cannot be read."""
        yield from (value["id"] for value in self.objects if "id" in value)
        found = (flaw.id for flaw in self.flaws if isinstance(flaw, ParseError))
        yield from (id for id in found if id is not None)


def text_of(data: bytes) -> TranscriptText:
    """Return a text as clients read it, with the faults repaired that they forgive."""
    try:
        return TranscriptText(data, *read_values(data))
    except ParseError as error:
        return TranscriptText(data, (), (error,))


def reason_of(flaw: Repair | ParseError) -> str:
    """Return the fault of a text in words."""
    return str(flaw).removeprefix("Parse error: ")


def same_id(one: object, other: object) -> bool:
    """Return whether two ids are the same: 1 is neither "1" nor true."""
    return type(one) is type(other) and one == other


@dataclass(slots=True, kw_only=True)
class Transcript:
    """One connection, begun in `revision` over `transport`, and its exchanges.

    `errors` are the last lines that a process wrote to standard error; `others` are the revisions
    that the server speaks on other connections, `refused` those that it does not. `url` is the
    endpoint over HTTP.
    """

    revision: str
    transport: str
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    errors: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    url: str = ""

    @property
    def beginning(self) -> Exchange:
        """The first exchange; an empty one before that."""
        return self.exchanges[0] if self.exchanges else Exchange(probe="")

    def first(self, probe: str) -> Exchange | None:
        """Return the first exchange of a probe; None without one."""
        return next(self.all(probe), None)

    def all(self, probe: str) -> Iterator[Exchange]:
        """Yield all exchanges of a probe."""
        return (exchange for exchange in self.exchanges if exchange.probe == probe)

    @property
    def opening(self) -> dict[str, Any]:
        """The server's description of itself at the beginning; empty without one."""
        return self.beginning.result or {}

    @property
    def negotiated(self) -> str:
        """The revision that the server agreed to, or offered; may be empty."""
        offered = self.opening.get("supportedVersions")
        if is_array(offered):
            return self.revision if self.revision in offered else ""
        agreed = self.opening.get("protocolVersion")
        return agreed if isinstance(agreed, str) else ""

    @property
    def is_spoken(self) -> bool:
        """Return whether the server agreed to the revision that was asked for."""
        return self.negotiated == self.revision != UNKNOWN_REVISION

    @property
    def is_stateless(self) -> bool:
        """Return whether each request says all about its client."""
        return revision_facts.is_stateless(self.revision)

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server declared."""
        declared = self.opening.get("capabilities")
        return declared if is_object(declared) else {}

    def declares(self, *path: str) -> bool:
        """Return whether a capability was declared: an object, or a flag that is true."""
        found: Any = self.capabilities
        for name in path:
            found = found.get(name) if is_object(found) else None
        return found is not None and found is not False

    @property
    def label(self) -> str:
        """The connection in a few words."""
        return f"{self.revision} over {self.transport}"


def list_items(
    transcript: Transcript, method: str
) -> Iterator[tuple[dict[str, Any], Exchange, str]]:
    """Yield the items that a method lists, from all pages, each with its page and place there.

    A page that comes again, entry for entry, is one page.
    """
    pages: list[Any] = []
    member = list_member(transcript.revision, method)
    for exchange in transcript.all(method):
        items = (exchange.result or {}).get(member)
        # A cursor that does not advance brings the same page again.
        if items in pages:
            continue
        pages.append(items)
        for index, item in enumerate(items if is_array(items) else ()):
            if is_object(item):
                yield item, exchange, f"/result/{member}/{index}"
