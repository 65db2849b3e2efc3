"""HTTP/2 over a transport of bytes, for both ends: streams with flow control, by h2.

Once adopted, its imports are relative, like those of the modules beside it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings
from mcp_protogen.runtime.core.connection_errors import Disconnected, Strays, Unsent
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.core.tasks import Signal, Tasks
from mcp_protogen.runtime.http.server.options import USUAL_HTTP
from mcp_protogen.runtime.transports.base import Received, Transport, wait_within

Fields: TypeAlias = Sequence[tuple[bytes, bytes]]

# What each end has to read first: the preface of a client, and the length of a frame of settings,
# which is small (RFC 9113, section 3.4). No text begins with a zero byte.
_BEGINNINGS: Final[Mapping[Role, bytes]] = {
    "client": b"\0",
    "server": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}

# Twice the requests that the application takes at once: answers and cancellations must pass, too.
_STREAMS: Final = 2 * USUAL_HTTP.max_requests

# Until the server has said how many it takes (RFC 9113, section 6.5.2).
_STREAMS_AT_FIRST: Final = 100

# Of each stream, in bytes. That of the connection is as large as can be, so that unread data of
# a stream stops no other.
_WINDOW: Final = 64 * 1024 - 1
_LARGEST_WINDOW: Final = 2**31 - 1

# Twice what the application reads: it refuses one request, but HTTP/2 has to end the connection.
_HEADERS: Final = 2 * USUAL_HTTP.max_headers

# The size of a field in that limit, besides its name and value (RFC 9113, section 6.5.2).
_FIELD: Final = 32

# Bytes of answers to PING, SETTINGS and the like that may wait for a peer: no window limits these
# (RFC 9113, section 10.5).
_ANSWERS: Final = 256 * 1024

_STATUS: Final = re.compile(rb"[1-9]\d\d")

# Seconds for the last output to leave, and for the exit code after the last input.
_ENDING: Final = 1.0


class Stream:
    """A request and its response; the head and the body are those of the peer."""

    def __init__(self, id: int) -> None:
        self.id: Final = id
        self.head: Fields = ()
        self.body = bytearray()
        self.size = 0
        """The bytes of that body by which its window is smaller."""
        self.is_complete = False
        """Whether the peer has sent everything."""
        self.is_sent = False
        """Whether this end has, or no longer can."""
        self.failure = ""
        self.changed: Final = Signal()


class Http2End:
    """One end of a connection without IO: bytes in, streams and bytes out."""

    def __init__(self, role: Role) -> None:
        self._is_client = role == "client"
        self.peer: Final[Role] = "server" if self._is_client else "client"
        self._beginning = _BEGINNINGS[role]
        self._h2 = H2Connection(H2Configuration(client_side=self._is_client))
        limits = {
            SettingCodes.ENABLE_PUSH: 0,
            SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
            SettingCodes.MAX_CONCURRENT_STREAMS: _STREAMS,
            SettingCodes.MAX_HEADER_LIST_SIZE: _HEADERS,
        }
        self._h2.local_settings = Settings(client=self._is_client, initial_values=limits)
        self._h2.decoder.max_header_list_size = _HEADERS
        self._most_streams = _STREAMS_AT_FIRST
        self.streams: dict[int, Stream] = {}
        self.over = ""
        """Why nothing more can be exchanged."""
        self._output = bytearray()
        self._answers = 0
        """The bytes of it that answer frames, and are not of requests or responses."""
        if self._is_client:
            self._begin()

    def _begin(self) -> None:
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_LARGEST_WINDOW - _WINDOW)

    def take_output(self) -> bytes:
        self._answers = 0
        output, self._output = bytes(self._output + self._h2.data_to_send()), bytearray()
        return output

    def receive(self, data: bytes) -> list[Stream]:
        """Take bytes of the peer; return the streams that it opens.

        Raise `Disconnected` for a peer that does not speak HTTP/2, breaks its rules, or has much
        answered that it does not read.
        """
        if self.over:
            return []
        if self._beginning:
            if not data.startswith(self._beginning[: len(data)]):
                strays = Strays(self.peer).with_line(data.partition(b"\n")[0])
                advice = "choose it for both sides, or stdio for lines of JSON"
                raise Disconnected(strays.explain(f"the transport stdio-v2 is HTTP/2: {advice}"))
            self._beginning = b""
            if not self._is_client:
                # Only now: a client of another transport must not read this.
                self._begin()
        self._output += self._h2.data_to_send()
        try:
            received = self._h2.receive_data(data)
        except H2Error as error:
            self.over = f"the {self.peer} broke the rules of HTTP/2: {error}"
            raise Disconnected(self.over) from None
        answers = self._h2.data_to_send()
        self._output += answers
        self._answers += len(answers)
        if self._answers > _ANSWERS:
            self.over = f"the {self.peer} does not read the answers to its frames of HTTP/2"
            raise Disconnected(self.over)
        return [stream for event in received if (stream := self._take(event)) is not None]

    def _take(self, event: events.Event) -> Stream | None:
        """Take an event; return the stream that it opens."""
        stream = self.streams.get(getattr(event, "stream_id", None) or 0)
        match event:
            case events.RequestReceived(stream_id=int(id), headers=list(head)):
                stream = self.streams[id] = Stream(id)
                stream.head = _bytes_of(head)
                return stream
            case events.DataReceived(data=data, flow_controlled_length=size) if stream is not None:
                stream.body += data or b""
                stream.size += size or 0
            case events.ResponseReceived(headers=list(head)) if stream is not None:
                stream.head = _bytes_of(head)
                if not _STATUS.fullmatch(dict(stream.head)[b":status"]):
                    stream.head, stream.failure = (), f"the {self.peer} sent a malformed status"
            case events.StreamEnded() if stream is not None:
                stream.is_complete = True
            case events.StreamReset(error_code=code) if stream is not None:
                stream.is_sent = True
                # After a whole response, it only says that the rest of a request is not needed.
                if not (self._is_client and stream.is_complete):
                    stream.failure = f"the {self.peer} reset the stream: {_name(code)}"
            case events.RemoteSettingsChanged():
                self._most_streams = self._h2.remote_settings.max_concurrent_streams
            case events.ConnectionTerminated(error_code=code):
                self.over = f"the {self.peer} ended the connection: {_name(code)}"
            case _:
                pass
        # A window may be that of the connection.
        for changed in self.streams.values() if stream is None else [stream]:
            changed.changed.notify_all()
        return None

    def open(self, head: Fields) -> Stream | None:
        """Begin a request; return None while the server takes no more of them.

        Raise `Unsent` if the head is too large for it.
        """
        if self.over or self._h2.open_outbound_streams >= self._most_streams:
            return None
        size, most = sum(len(b"".join(field)) + _FIELD for field in head), _HEADERS
        most = self._h2.remote_settings.max_header_list_size or most
        if size > most:
            raise Unsent(f"the head of the request has {size} bytes, and the server takes {most}")
        id = self._h2.get_next_available_stream_id()
        stream = self.streams[id] = Stream(id)
        self.send_head(stream, head)
        return stream

    def send_head(self, stream: Stream, head: Fields) -> None:
        if not self.over:
            self._h2.send_headers(stream.id, list(head))

    def send(self, stream: Stream, data: memoryview, *, end: bool) -> memoryview:
        """Send as much of a body as the peer has room for, if it needs any; return the rest."""
        if self.over or stream.is_sent or (self._is_client and stream.is_complete):
            return data[:0]
        # Less than nothing after new settings (RFC 9113, section 6.9.2).
        room = max(0, self._h2.local_flow_control_window(stream.id))
        while len(data) and room:
            part = data[: min(room, self._h2.max_outbound_frame_size)]
            data, room = data[len(part) :], room - len(part)
            self._h2.send_data(stream.id, bytes(part))
        if end and not len(data):
            self._h2.end_stream(stream.id)
            stream.is_sent = True
        return data

    def take_body(self, stream: Stream) -> bytes:
        """Return the unread part, and give the peer room for as much."""
        data = bytes(stream.body)
        stream.body.clear()
        if stream.size and not self.over:
            self._h2.acknowledge_received_data(stream.size, stream.id)
        stream.size = 0
        return data

    def drop(self, stream: Stream) -> None:
        """Forget a stream; reset it unless both sides have ended it."""
        if self.streams.pop(stream.id, None) is None:
            return
        self.take_body(stream)
        if self.over or stream.failure or (stream.is_sent and stream.is_complete):
            return
        code = ErrorCodes.NO_ERROR if stream.is_sent else ErrorCodes.INTERNAL_ERROR
        self._h2.reset_stream(stream.id, ErrorCodes.CANCEL if self._is_client else code)

    def close(self) -> None:
        if not self.over:
            self.over = "the connection is closed"
            if not self._beginning or self._is_client:
                self._h2.close_connection()


def _bytes_of(head: Iterable[Any]) -> Fields:
    return [(bytes(name), bytes(value)) for name, value in head]


def _name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else f"error {code}"


class Http2Connection:
    """A connection over a transport of bytes.

    `on_stream` gets each stream that the peer opens; `on_end` why the peer sends no more, or None
    if it has ended in order.
    """

    def __init__(
        self,
        transport: Transport,
        role: Role,
        on_end: Callable[[Disconnected | None], object],
        on_stream: Callable[[Stream], object] = lambda stream: None,
    ) -> None:
        self.transport: Final = transport
        self._end = Http2End(role)
        self._on_end, self._on_stream = on_end, on_stream
        self._wake, self._written, self._freed = Signal(), Signal(), Signal()
        self._is_writing = self._is_writable = True
        self._lost: Disconnected | None = None
        self._tasks = Tasks()
        self._tasks.start(self._write())
        self._tasks.start(self._read())

    async def _write(self) -> None:
        try:
            while True:
                while not (data := self._end.take_output()):
                    self._is_writing = False
                    self._written.notify_all()
                    await self._wake.wait()
                await self.transport.send([data])
        except Disconnected as error:
            self._is_writing = self._is_writable = False
            self.lose(error)

    def _begin_writing(self) -> None:
        self._is_writing = self._is_writable
        self._wake.notify_all()

    async def _room(self) -> None:
        while self._is_writing:
            await self._written.wait()

    async def _read(self) -> None:
        error = None
        try:
            while not self._end.over and (received := await self.transport.receive()):
                for data in received:
                    for stream in self._end.receive(_chunk(data)):
                        self._on_stream(stream)
                self._begin_writing()
                self._freed.notify_all()
            if self._end.over:
                # The end of a program says more than the end of its connection.
                await wait_within(_ENDING, self.transport.receive())
        except Disconnected as broken:
            error = broken
            self.lose(error)
        self._on_end(error)

    @property
    def over(self) -> str:
        """Why nothing more can be exchanged; empty if the peer has said nothing of it."""
        return self._end.over

    def lose(self, error: Disconnected) -> None:
        """End all streams with an error."""
        if self._lost is None:
            self._lost = error
        for signal in (*(stream.changed for stream in self._end.streams.values()), self._freed):
            signal.notify_all()
        self._written.notify_all()

    async def open(self, head: Fields) -> Stream:
        """Begin a request, as soon as the server takes it; raise `Unsent`."""
        while self._lost is None:
            if (stream := self._end.open(head)) is not None:
                self._begin_writing()
                return stream
            await self._freed.wait()
        raise Unsent(str(self._lost))

    def send_head(self, stream: Stream, head: Fields) -> None:
        """Begin a response; raise `Disconnected`."""
        self._check(stream)
        self._end.send_head(stream, head)
        self._begin_writing()

    async def send(self, stream: Stream, data: bytes, *, end: bool) -> None:
        """Send a part of a body, as fast as the peer reads; raise `Disconnected`."""
        rest = memoryview(data)
        while True:
            self._check(stream)
            before, rest = len(rest), self._end.send(stream, rest, end=end)
            self._begin_writing()
            if len(rest) == before > 0:
                await stream.changed.wait()
                continue
            await self._room()
            if not len(rest):
                return

    async def wait_head(self, stream: Stream) -> Fields:
        while not stream.head:
            await self._wait(stream)
        return stream.head

    async def read(self, stream: Stream) -> bytes:
        """Return the next part of a body, empty at its end; raise `Disconnected`."""
        while not (stream.body or stream.is_complete):
            await self._wait(stream)
        data = self._end.take_body(stream)
        self._begin_writing()
        return data

    async def wait_failure(self, stream: Stream) -> None:
        """Wait until the peer resets a stream, or is gone."""
        while not (stream.failure or stream.is_sent or self._lost):
            await stream.changed.wait()

    async def _wait(self, stream: Stream) -> None:
        self._check(stream)
        await stream.changed.wait()

    def _check(self, stream: Stream) -> None:
        if self._lost is not None:
            raise self._lost
        if stream.failure:
            raise Disconnected(stream.failure)

    def drop(self, stream: Stream) -> None:
        self._end.drop(stream)
        self._begin_writing()
        self._freed.notify_all()

    async def close(self) -> None:
        self._end.close()
        self._begin_writing()
        await wait_within(_ENDING, self._room())
        self.lose(Disconnected("the connection is closed"))
        await self._tasks.cancel()
        await self.transport.close()


def _chunk(data: Received) -> bytes:
    assert isinstance(data, bytes)
    return data
