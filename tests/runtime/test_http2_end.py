"""An end of HTTP/2 without IO: bodies, streams, limits, and peers of other protocols."""

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event
from h2.settings import SettingCodes
from mcp_protogen.runtime.core.connection_errors import Disconnected, Unsent
from support.rehearsals.transports.http2 import Fields, Http2End, Stream
from support.tables import case

POST = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/mcp")]
OK = [(b":status", b"200")]
WINDOW = 64 * 1024 - 1
STREAMS = 2000
# Frames that are answered; the second is for a stream that is closed.
PING = b"\0\0\x08\6\0\0\0\0\0" + bytes(8)
DATA = b"\0\0\1\0\0\0\0\0\1x"
LARGE = bytes(range(256)) * 4096


class Pair:
    """A client and a server, and what one has sent to the other."""

    def __init__(self) -> None:
        self.client, self.server = Http2End("client"), Http2End("server")
        self.exchange()

    def exchange(self) -> list[Stream]:
        """Deliver all output; return the streams that the server sees begin."""
        opened: list[Stream] = []
        while (out := self.client.take_output()) + (back := self.server.take_output()):
            opened += self.server.receive(out) if out else []
            if back:
                self.client.receive(back)
        return opened

    def open(self) -> tuple[Stream, Stream]:
        """Begin a request; return its stream on each side."""
        stream = self.client.open(POST)
        assert stream is not None
        (seen,) = self.exchange()
        return stream, seen

    def carry(self, sender: Http2End, sent: Stream, taken: Stream, data: bytes) -> bytes:
        """Send a whole body as fast as it is read; return it as it arrived."""
        reader = self.server if sender is self.client else self.client
        rest, arrived = memoryview(data), b""
        while not taken.is_complete:
            rest = sender.send(sent, rest, end=True)
            self.exchange()
            assert len(taken.body) <= WINDOW
            arrived += reader.take_body(taken)
            self.exchange()
        return arrived


def test_large_bodies_arrive_in_both_directions_as_fast_as_they_are_read() -> None:
    pair = Pair()
    request, seen = pair.open()
    assert pair.carry(pair.client, request, seen, LARGE) == LARGE
    pair.server.send_head(seen, OK)
    assert pair.carry(pair.server, seen, request, LARGE) == LARGE
    assert request.head == OK


def test_an_unread_body_stops_no_other_stream() -> None:
    pair = Pair()
    unread, _ = pair.open()
    assert len(pair.client.send(unread, memoryview(LARGE), end=True)) == len(LARGE) - WINDOW
    other, seen = pair.open()
    assert pair.carry(pair.client, other, seen, LARGE) == LARGE


def test_requests_wait_at_the_limit_of_the_server_until_one_ends() -> None:
    client = Http2End("client")
    # The limit is unknown as long as the server has said nothing.
    assert sum(client.open(POST) is not None for _ in range(STREAMS)) == 100

    pair = Pair()
    opened = [pair.client.open(POST) for _ in range(STREAMS + 1)]
    assert None not in opened[:-1]
    assert opened[-1] is None
    assert len(pair.exchange()) == STREAMS
    assert opened[0] is not None
    pair.client.drop(opened[0])
    assert pair.client.open(POST) is not None


def test_a_dropped_stream_is_reset_and_says_why() -> None:
    pair = Pair()
    for body in (b"part", b"whole"):
        request, seen = pair.open()
        pair.client.send(request, memoryview(body), end=body == b"whole")
        pair.client.drop(request)
        pair.exchange()
        assert seen.failure == "the client reset the stream: CANCEL"

    request, seen = pair.open()
    pair.server.drop(seen)
    pair.exchange()
    assert request.failure == "the server reset the stream: INTERNAL_ERROR"


@pytest.mark.parametrize("resets", [True, False])
def test_a_response_before_the_end_of_the_request_is_whole_and_stops_its_body(resets: bool) -> None:
    pair = Pair()
    request, seen = pair.open()
    pair.client.send(request, memoryview(LARGE), end=True)
    pair.server.send_head(seen, OK)
    pair.server.send(seen, memoryview(b"too large"), end=True)
    if resets:
        pair.server.drop(seen)
    pair.exchange()
    assert (request.is_complete, request.failure) == (True, "")
    assert bytes(request.body) == b"too large"
    assert not len(pair.client.send(request, memoryview(LARGE), end=True))


def test_a_body_waits_while_new_settings_leave_less_than_no_room() -> None:
    client, server = H2Connection(H2Configuration()), Http2End("server")
    client.initiate_connection()
    client.send_headers(1, POST)
    (seen,) = server.receive(client.data_to_send())
    server.send_head(seen, OK)
    rest = server.send(seen, memoryview(LARGE), end=True)
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    for room, sent in ((0, 0), (65_535, 0), (9, 9)):
        if room:
            client.increment_flow_control_window(room)
            client.increment_flow_control_window(room, 1)
        server.receive(client.data_to_send())
        before, rest = len(rest), server.send(seen, rest, end=True)
        assert before - len(rest) == sent


def test_a_response_with_a_malformed_status_fails_alone() -> None:
    client, server = Http2End("client"), H2Connection(H2Configuration(client_side=False))
    stream = client.open(POST)
    assert stream is not None
    server.receive_data(client.take_output())
    server.send_headers(1, [(":status", "abc")])
    client.receive(server.data_to_send())
    assert (stream.head, stream.failure) == ((), "the server sent a malformed status")
    assert not client.over


@pytest.mark.parametrize("frame", [PING, DATA])
def test_a_peer_that_never_reads_answers_to_its_frames_is_told_so(frame: bytes) -> None:
    client, server = H2Connection(H2Configuration()), Http2End("server")
    client.initiate_connection()
    client.send_headers(1, POST)
    client.reset_stream(1)
    server.receive(client.data_to_send())
    for _ in range(12):
        server.receive(frame * 2000)
        server.take_output()
    with pytest.raises(Disconnected, match="the client does not read the answers"):
        for _ in range(12):
            server.receive(frame * 2000)


def test_the_end_of_a_connection_says_who_ended_it() -> None:
    for closed, left, who in (("client", "server", "client"), ("server", "client", "server")):
        with case(closed):
            pair = Pair()
            # It is on its way when the server ends the connection.
            pair.client.open(POST)
            getattr(pair, closed).close()
            pair.exchange()
            end: Http2End = getattr(pair, left)
            assert end.over == f"the {who} ended the connection: NO_ERROR"
            assert end.open(POST) is None


def test_a_large_head_ends_its_own_request_only() -> None:
    pair = Pair()
    with pytest.raises(Unsent, match=r"has 140.* bytes, and the server takes 131072$"):
        pair.client.open([*POST, (b"mcp-param-a", b"a" * 140_000)])
    pair.open()


@pytest.mark.parametrize(
    ("role", "said", "shown"),
    [
        ("client", b"ready\n", "the server wrote 'ready' where messages are expected"),
        ("client", b"a", "the server wrote 'a'"),
        ("client", b'{"jsonrpc":"2.0"}\n', "or stdio for lines of JSON"),
        ("client", b"HTTP/1.1 400 Bad Request\r\n", "the server wrote 'HTTP/1.1 400"),
        ("client", bytes(9), "the server broke the rules of HTTP/2"),
        ("server", b'{"jsonrpc":"2.0"}\n', 'the client wrote \'{"jsonrpc":"2.0"}\''),
        ("server", b"PRI * HTTP/1.1\r\n", "the client wrote 'PRI * HTTP/1.1'"),
        ("server", b"GET / HTTP/1.1\r\n", "the transport stdio-v2 is HTTP/2"),
    ],
)
def test_other_protocols_are_named_at_once(role: str, said: bytes, shown: str) -> None:
    end = Http2End("client" if role == "client" else "server")
    end.take_output()
    with pytest.raises(Disconnected) as caught:
        end.receive(said)
    assert shown in str(caught.value)
    # A client of another transport must not read frames.
    assert role == "client" or not end.take_output()


@pytest.mark.parametrize(
    ("count", "head", "shown"),
    [
        (STREAMS + 1, [], "the client broke the rules of HTTP/2: Max inbound streams is 2000"),
        (1, [(b"a", b"a" * 140_000)], "the client broke the rules of HTTP/2: .* header list"),
    ],
)
def test_a_client_that_ignores_a_limit_is_told_so(count: int, head: Fields, shown: str) -> None:
    client, server = H2Connection(H2Configuration()), Http2End("server")
    client.initiate_connection()
    for number in range(count):
        client.send_headers(2 * number + 1, [*POST, *head])
    with pytest.raises(Disconnected, match=shown):
        server.receive(client.data_to_send())
    assert any(map(is_end, client.receive_data(server.take_output())))


def is_end(event: Event) -> bool:
    return isinstance(event, ConnectionTerminated)
