"""A server played back from a recording: the same requests get the same answers.

A request is found by its method and params, ignoring the parts that belong to a connection: ids,
progress tokens, and the protocol's members of `_meta`. Messages of the server beside an answer are
sent again, in the order of the recording, without its pauses.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from json import dumps
from os import PathLike
from typing import Any, Final, TypeAlias

from ..connection import CANCELLED, PROGRESS
from ..core.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RequestId, escape_step
from ..core.json import JSONObject, is_array, is_object, json_text, read_json, without
from ..core.subscriptions import ACKNOWLEDGED, LISTEN
from ..messages.envelope import PROGRESS_TOKEN, SUBSCRIPTION_ID, meta_in
from ..messages.jsonrpc import write_error, write_result
from .base import Inbox, Opener, Received, Transport
from .recordings import Entry, Redaction, TrafficRecording, read_recording

_OPENING: Final = frozenset({"initialize", "server/discover"})
"""These are answered whatever the client declares."""

_OF_CONNECTION: Final = frozenset({PROGRESS_TOKEN, "traceparent", "tracestate", "baggage"})
_OF_PROTOCOL: Final = "io.modelcontextprotocol/"

_MOST_DIFFERENCES: Final = 3

_Key: TypeAlias = tuple[str, str]


def replaying(recording: str | PathLike[str]) -> Opener:
    """Return an opener of connections to a server played back from a file.

    The file is one written by `mcp-gen bridge --record`. An unknown request gets an error that
    names the closest one. If a request occurs several times, its answers are given in order, and
    then the last one again; each connection begins anew. Raise `ValueError` for an invalid
    recording, and `OSError` if the file cannot be read.
    """
    script = Script(read_recording(recording))

    async def open() -> Transport:
        return Playback(script)

    return open


@dataclass(slots=True, eq=False)
class Exchange:
    """A message of the client, and the server's messages up to its answer, if any."""

    method: str
    params: JSONObject
    id: RequestId | None = None
    connection: str | None = None
    steps: list[JSONObject] = field(default_factory=list[JSONObject])

    @property
    def token(self) -> object:
        return meta_in(self.params).get(PROGRESS_TOKEN)

    @property
    def comparable(self) -> JSONObject:
        """The params without the members that belong to a connection."""
        own = {
            name: value
            for name, value in meta_in(self.params).items()
            if name not in _OF_CONNECTION and not name.startswith(_OF_PROTOCOL)
        }
        others = without(self.params, "_meta")
        return {**others, "_meta": own} if own else others


class Script:
    """The exchanges of a recording, by the client's request."""

    def __init__(self, recorded: TrafficRecording) -> None:
        places = recorded.about.get("redacted")
        self.redaction: Final = Redaction(places if is_array(places) else ())
        self.exchanges: Final[dict[_Key, list[Exchange]]] = defaultdict(list)
        self.prelude: Final = Exchange("", {})
        """The server's messages before any request."""
        connections: dict[str | None, _Reader] = {}
        for entry in recorded.entries:
            if entry.side != "client":
                reader = connections.setdefault(entry.connection, _Reader(self))
                for message in _objects_in(entry.message):
                    reader.take(entry, message)

    def key(self, request: Exchange) -> _Key:
        """Return a key that is equal for requests with the same answer."""
        if request.method in _OPENING:
            return request.method, ""
        return request.method, dumps(self._redact(request), sort_keys=True)

    def _redact(self, request: Exchange) -> Any:
        return self.redaction(request.comparable, "/params")

    def closest(self, request: Exchange) -> tuple[Exchange, list[str]] | None:
        """Return the most similar recorded request, and pointers to the differences."""
        wanted = self._redact(request)
        same = [found[0] for key, found in self.exchanges.items() if key[0] == request.method]
        differing = [(known, [*_differences(known.comparable, wanted)]) for known in same]
        return min(differing, key=lambda one: len(one[1]), default=None)


class _Reader:
    """The messages of one connection, in order."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._open: dict[object, Exchange] = {}
        self._last = script.prelude

    def take(self, entry: Entry, message: JSONObject) -> None:
        method, id, params = message.get("method"), message.get("id"), _params_of(message)
        if entry.sender == "client":
            if isinstance(method, str) and method not in (CANCELLED, PROGRESS):
                self._add_request(Exchange(method, params, id, entry.connection))
        elif method is None:
            if (exchange := self._open.pop(_id_key(id), None)) is not None:
                exchange.steps.append(message)
        else:
            self._owner(method, params).steps.append(message)

    def _add_request(self, exchange: Exchange) -> None:
        self._script.exchanges[self._script.key(exchange)].append(exchange)
        self._last = exchange
        if exchange.id is not None:
            self._open[_id_key(exchange.id)] = exchange

    def _owner(self, method: str, params: JSONObject) -> Exchange:
        """Return the exchange to which a message of the server belongs.

        A message on a listen stream, which stays open, belongs to the client's latest request.
        """
        token, stream = params.get(PROGRESS_TOKEN), _stream_of(params)
        if method == ACKNOWLEDGED and (exchange := self._open.get(_id_key(stream))) is not None:
            return exchange
        under_way = [exchange for exchange in self._open.values() if exchange.method != LISTEN]
        for exchange in under_way:
            if token is not None and exchange.token == token:
                return exchange
        return next(reversed(under_way), self._last)


def _objects_in(message: object) -> list[JSONObject]:
    """Return the messages in one, which may be a batch."""
    return [value for value in (message if is_array(message) else [message]) if is_object(value)]


def _params_of(message: JSONObject) -> JSONObject:
    params = message.get("params")
    return params if is_object(params) else {}


def _stream_of(message: Any) -> object:
    """Return the id of the request that opened the stream of a message."""
    return meta_in(message).get(SUBSCRIPTION_ID)


def _id_key(id: object) -> object:
    # 1 and "1" are two ids, and 1 and True would be one key.
    return type(id).__name__, str(id)


def _differences(recorded: Any, given: Any, at: str = "/params") -> Iterator[str]:
    if is_object(recorded) and is_object(given):
        for name in sorted({*recorded, *given}):
            pointer = f"{at}/{escape_step(name)}"
            if name in recorded and name in given:
                yield from _differences(recorded[name], given[name], pointer)
            else:
                yield pointer
    elif is_array(recorded) and is_array(given) and len(recorded) == len(given):
        for index, (old, new) in enumerate(zip(recorded, given, strict=True)):
            yield from _differences(old, new, f"{at}/{index}")
    elif json_text(recorded) != json_text(given):
        yield at


_Streams: TypeAlias = dict[object, RequestId | None]
"""The current ids of requests that opened streams, by their recorded connections and ids."""


class _Play:
    """The playback of an exchange for a request, as far as it has come."""

    def __init__(self, exchange: Exchange, request: Exchange) -> None:
        self.exchange, self.request = exchange, request
        self.steps = iter(exchange.steps)

    def adapt_message(self, step: JSONObject, streams: _Streams) -> JSONObject | None:
        """Return a message with current ids; None if it belongs to no current request."""
        member = "params" if "method" in step else "result"
        adapted = dict(step) if "method" in step else {**step, "id": self.request.id}
        said = step.get(member)
        if not is_object(said):
            return adapted
        if (stream := _stream_of(said)) is not None:
            key = self.exchange.connection, _id_key(stream)
            if key not in streams:
                return None
            meta = {**said["_meta"], SUBSCRIPTION_ID: streams[key]}
            return {**adapted, member: {**said, "_meta": meta}}
        token = said.get(PROGRESS_TOKEN) if step.get("method") == PROGRESS else None
        if token is not None and token == self.exchange.token:
            if self.request.token is None:
                return None
            return {**adapted, member: {**said, PROGRESS_TOKEN: self.request.token}}
        return adapted


class Playback:
    """A server on one connection, and the client's transport to it."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._given: dict[_Key, int] = defaultdict(int)
        self._waiting: dict[str, _Play] = {}
        """Exchanges that continue at the client's answer, by the id of the question."""
        self._ids = count(1)
        self._streams: _Streams = {}
        self._said = Inbox()
        self._said.extend(self._play_steps(_Play(script.prelude, script.prelude)))
        self.receive = self._said.receive

    async def send(self, messages: Sequence[bytes]) -> None:
        for data in messages:
            for message in _objects_in(read_json(data)):
                self._said.extend(self._take_message(message))

    async def close(self) -> None:
        self._said.end()

    def _take_message(self, message: JSONObject) -> list[Received]:
        """Return the server's messages after one of the client."""
        method, id, params = message.get("method"), message.get("id"), _params_of(message)
        if not isinstance(method, str):
            play = self._waiting.pop(str(id), None)
            return [] if play is None else self._play_steps(play)
        if method == CANCELLED:
            cancelled = _id_key(params.get("requestId"))
            for question, play in list(self._waiting.items()):
                if _id_key(play.request.id) == cancelled:
                    del self._waiting[question]
            return []
        request = Exchange(method, params, id)
        key = self._script.key(request)
        exchanges = self._script.exchanges.get(key)
        if exchanges is None:
            return [] if id is None else [self._answer_unrecorded(request, id)]
        given = self._given[key]
        self._given[key] += 1
        exchange = exchanges[min(given, len(exchanges) - 1)]
        if method == LISTEN:
            self._streams[exchange.connection, _id_key(exchange.id)] = id
        return self._play_steps(_Play(exchange, request))

    def _play_steps(self, play: _Play) -> list[Received]:
        """Return the server's messages until it waits for an answer."""
        messages: list[Received] = []
        for step in play.steps:
            message = play.adapt_message(step, self._streams)
            if message is None:
                continue
            asks = "method" in message and message.get("id") is not None
            if asks:
                message["id"] = id = f"replayed-{next(self._ids)}"
                self._waiting[id] = play
            messages.append(json_text(message))
            if asks:
                break
        return messages

    def _answer_unrecorded(self, request: Exchange, id: RequestId) -> bytes:
        method = request.method
        if method == "ping":
            return write_result(id, b"{}")
        closest = self._script.closest(request)
        if closest is None:
            known = sorted({key[0] for key in self._script.exchanges})
            text = f"{method} was not recorded; recorded methods: {', '.join(known) or 'none'}"
            return write_error(id, METHOD_NOT_FOUND, text)
        exchange, differences = closest
        shown = ", ".join(differences[:_MOST_DIFFERENCES])
        if len(differences) > _MOST_DIFFERENCES:
            shown += f" and {len(differences) - _MOST_DIFFERENCES} more"
        text = f"{method} was not recorded with these params; the closest differs in {shown}"
        data = {"closest": exchange.comparable, "differences": differences}
        return write_error(id, INVALID_PARAMS, text, data)
