"""Bodies that take memory: bounded in total, and released however they end."""

import asyncio
import json
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from mcp_protogen.runtime.http.server import asgi
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import NotificationParams
from support.auth.guarding import ADA, BEN, GUARD
from support.http.fire import AttackedServer, app_of, call, modern, of_modern, quiet, run
from support.json_types import Json, JsonObject
from support.revisions import OLD
from support.sessions.talking import INITIALIZED, hello, notification, pkg, stub

KIB = 1024
LIMITS = {"max_body": 100 * KIB, "max_bodies": 200 * KIB}
FIELDS = {
    "host": "localhost",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


class Sender:
    """A request without a socket; its body is sent by hand, and the response is recorded."""

    def __init__(self, app: Any, length: int | None = None, **fields: Any) -> None:
        self.read = 0
        self._said: list[JsonObject] = []
        self._pieces: asyncio.Queue[JsonObject] = asyncio.Queue()
        given = {**FIELDS, **{name.replace("_", "-"): value for name, value in fields.items()}}
        if length is not None:
            given["content-length"] = str(length)
        headers = [(name.encode(), str(value).encode()) for name, value in given.items() if value]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> JsonObject:
        self.read += 1
        return await self._pieces.get()

    async def _send(self, message: JsonObject) -> None:
        self._said.append(message)

    async def send(self, piece: bytes, more: bool = True) -> None:
        """Send a piece, and let it be read."""
        self._pieces.put_nowait({"type": "http.request", "body": piece, "more_body": more})
        await rest()

    def leave(self) -> None:
        """Go away."""
        self._pieces.put_nowait({"type": "http.disconnect"})

    async def status(self) -> int:
        """Return the status of the answer, once it has come."""
        await self.task
        return int(self._said[0]["status"])

    def field(self, name: bytes) -> bytes | None:
        """A header field of the answer."""
        return dict(self._said[0]["headers"]).get(name)


async def rest() -> None:
    """Let other tasks run a few times."""
    for _ in range(5):
        await asyncio.sleep(0)


async def send_request(app: Any, message: Json, **fields: Any) -> Sender:
    """A request that was sent as a whole."""
    body = json.dumps(message).encode()
    one = Sender(app, len(body), **fields)
    await one.send(body, more=False)
    return one


async def begin_session(app: Any) -> JsonObject:
    """Begin a session; return its header fields."""
    one = await send_request(app, hello(OLD))
    assert await one.status() == 200
    id = one.field(b"mcp-session-id")
    assert id is not None
    mine = {"mcp_session_id": id.decode()}
    assert await (await send_request(app, INITIALIZED, **mine)).status() == 202
    return mine


def bytes_in_use(app: Any) -> int:
    """Return the number of bytes used for bodies."""
    return int(app._running.state.bodies.quota.used)


async def end_sent(one: Sender) -> int | None:
    await one.send(b" " * 50 * KIB, more=False)
    return await one.status()


async def end_left(one: Sender) -> int | None:
    one.leave()
    return await one.status()


async def end_late(one: Sender) -> int | None:
    return await one.status()


async def end_cancelled(one: Sender) -> int | None:
    one.task.cancel()
    await asyncio.wait([one.task])
    return None


async def check_bound(app: Any, mine: JsonObject) -> None:
    """Check that bodies of 150 KiB leave no room for 51 more."""
    assert bytes_in_use(app) == 150 * KIB
    refused = Sender(app, 51 * KIB, **mine)
    assert await refused.status() == 503
    assert (refused.field(b"retry-after"), refused.read) == (b"1", 0)
    # A small request always has room.
    assert await (await send_request(app, call("echo"), **mine)).status() == 200


@pytest.fixture(autouse=True)
def logs_stay_quiet() -> Generator[None, None, None]:
    with quiet():
        yield


@pytest.mark.parametrize(
    ("end", "status"), [(end_sent, 400), (end_left, 400), (end_late, 408), (end_cancelled, None)]
)
async def test_bodies_that_are_read_have_a_bound_and_give_back_what_they_took(
    end: Any, status: int | None
) -> None:
    seconds = 0.02 if end is end_late else 30
    app = app_of(AttackedServer().server, **LIMITS, body_timeout=seconds)
    mine = await begin_session(app)
    # One states its length, the other does not.
    slow = Sender(app, 100 * KIB, **mine), Sender(app, **mine)
    for sender in slow:
        await sender.send(b" " * 50 * KIB)
    if end is not end_late:
        # Otherwise the time may be up before that.
        await check_bound(app, mine)
    assert [await end(sender) for sender in slow] == [status, status]
    assert bytes_in_use(app) == 0
    large = await send_request(app, call("echo", text="x" * 90 * KIB), **mine)
    assert await large.status() == 200
    await app.close()


async def test_who_sends_nothing_any_more_makes_room_however_much_has_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "_PAUSE", 0.005)

    app = app_of(AttackedServer().server, **LIMITS, body_timeout=1000)
    mine = await begin_session(app)
    stuck, going = Sender(app, 100 * KIB, **mine), Sender(app, 100 * KIB, **mine)
    for sender in (stuck, going):
        await sender.send(b" " * (90 * KIB))
    await asyncio.sleep(0.006)
    await going.send(b" ")
    large = await send_request(app, call("echo", text="x" * 90 * KIB), **mine)
    assert [await large.status(), await stuck.status()] == [200, 503]
    assert await end_left(going) == 400
    await app.close()


async def test_who_is_too_slow_makes_room_and_who_is_not_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "_START", 0.0)

    app = app_of(AttackedServer().server, **LIMITS, body_timeout=1000)
    mine = await begin_session(app)
    slow, quick = Sender(app, 100 * KIB, **mine), Sender(app, 100 * KIB, **mine)
    await slow.send(b"")
    await quick.send(b" " * 90 * KIB)
    await asyncio.sleep(0.001)
    large = await send_request(app, call("echo", text="x" * 90 * KIB), **mine)
    assert [await large.status(), await slow.status()] == [200, 503]
    assert slow.field(b"retry-after") == b"1"
    # If none is slow, the latest must retry.
    again = Sender(app, 100 * KIB, **mine)
    await again.send(b" " * 90 * KIB)
    assert await Sender(app, 100 * KIB, **mine).status() == 503
    for sender in (quick, again):
        assert await end_left(sender) == 400
    assert bytes_in_use(app) == 0
    await app.close()


async def test_a_notification_counts_until_its_handler_ends_though_it_was_taken_in() -> None:
    go = asyncio.Event()
    began: list[object] = []

    async def on_roots_list_changed(
        _: object, session: Session, params: NotificationParams
    ) -> None:
        began.append(params)
        await go.wait()

    changed = notification("notifications/roots/list_changed", _meta={"x": "x" * 90 * KIB})
    small = notification("notifications/roots/list_changed")
    gone = notification("notifications/cancelled", requestId=7)
    for sessions in (True, False):
        server = stub(pkg.load(OLD).Server, on_roots_list_changed=on_roots_list_changed)
        limits = {"max_requests": 3, "sessions": sessions}
        app = app_of(server, **LIMITS, **limits)
        mine = await begin_session(app) if sessions else {"mcp_protocol_version": OLD}
        for message, status in (
            *((changed, 202), (changed, 202), (changed, 503)),
            *((small, 202), (small, 503), (gone, 202)),
        ):
            assert await (await send_request(app, message, **mine)).status() == status
        assert (len(began), bytes_in_use(app) > 180 * KIB) == (3, True)
        go.set()
        await rest()
        assert (bytes_in_use(app), app._running.state.working) == (0, 0)
        assert await (await send_request(app, changed, **mine)).status() == 202
        await app.close()
        go.clear()
        began.clear()


@pytest.mark.parametrize("ends", ["answered", "cancelled", "left"])
async def test_running_work_counts_until_its_end(ends: str) -> None:
    attacked = AttackedServer()
    app = app_of(attacked.server, **LIMITS)
    mine = await begin_session(app)
    text = "x" * 90 * KIB
    if ends == "left":
        message: Any = modern("tools/call", name="wait", arguments={"text": text})
        fields: JsonObject = {
            name.replace("-", "_"): value for name, value in of_modern("tools/call", "wait").items()
        }
    else:
        message, fields = call("wait", text=text), mine
    working = [await send_request(app, {**message, "id": id}, **fields) for id in (1, 2)]
    assert bytes_in_use(app) > 180 * KIB
    assert await Sender(app, 90 * KIB, **mine).status() == 503
    for id, sender in enumerate(working, 1):
        if ends == "answered":
            attacked.go.set()
        elif ends == "left":
            sender.leave()
        else:
            gone = {"method": "notifications/cancelled", "params": {"requestId": id}}
            await (await send_request(app, {"jsonrpc": "2.0", **gone}, **mine)).status()
        await sender.task
    assert (bytes_in_use(app), attacked.finished) == (0, 2)
    await app.close()


async def test_a_listen_stream_keeps_nobody_from_asking() -> None:
    app = app_of(AttackedServer().server, **LIMITS)
    wanted = modern("subscriptions/listen", notifications={"toolsListChanged": True})
    wanted["params"]["_meta"]["com.example/x"] = "x" * 20 * KIB
    fields = {
        name.replace("-", "_"): value for name, value in of_modern("subscriptions/listen").items()
    }
    # The whole memory of an open session is bounded, not only its params.
    assert await (await send_request(app, {**wanted, "x": [{}] * 2200}, **fields)).status() == 413
    stream = await send_request(app, wanted, **fields)
    assert (bytes_in_use(app), stream.task.done()) == (0, False)
    stream.leave()
    assert await stream.status() == 200
    await app.close()


class Deaf(Sender):
    """A client that answers do not reach."""

    async def _send(self, message: JsonObject) -> None:
        raise OSError("gone")


class Asking(AttackedServer):
    """A server whose tools ask the client, and get no answer."""

    async def _do(self, session: Any, name: str, arguments: Any) -> str:
        if name == "ask":
            raise pkg.Disconnected("gone")
        return await super()._do(session, name, arguments)


def test_repeatable_client_actions_are_logged_sparingly(caplog: pytest.LogCaptureFixture) -> None:
    async def script() -> None:
        app = app_of(Asking().server)
        for _ in range(9):
            for name in ("ask", "wait"):
                fields = {
                    field.replace("-", "_"): value
                    for field, value in of_modern("tools/call", name).items()
                }
                one = await send_request(app, modern("tools/call", name=name), **fields)
                one.leave()
                await one.task
            deaf = Deaf(app, 0)
            await deaf.send(b"", more=False)
            await deaf.task
        await app.close()

    caplog.set_level("INFO", "mcp_protogen.runtime")
    run(script())
    logged = Counter(entry.module for entry in caplog.records)
    # The module has two kinds: clients that do not read, and clients that have gone.
    assert [logged[logger] for logger in ("jobs", "asgi")] == [5, 10]


def guarded_app(**chosen: Any) -> Any:
    """An application whose clients show tokens."""
    limits = {"max_body": 100 * KIB, "max_bodies": 300 * KIB, **chosen}
    return app_of(AttackedServer().server, authentication=GUARD, **limits)


async def test_principal_with_too_large_bodies_is_refused_alone() -> None:
    app = guarded_app(max_bodies_per_principal=150 * KIB)
    first = Sender(app, 90 * KIB, **ADA)
    await rest()
    refused = Sender(app, 61 * KIB, **ADA)
    assert (await refused.status(), refused.field(b"retry-after")) == (429, b"1")
    fits, bens = Sender(app, 60 * KIB, **ADA), Sender(app, 90 * KIB, **BEN)
    await rest()
    assert app._running.state.bodies.quota.used == 240 * KIB
    for sender in (first, fits, bens):
        await end_sent(sender)
    assert app._running.state.bodies.quota.used == 0
    assert app._running.state.bodies.quota._used_by == {}


async def test_slow_body_makes_room_for_one_of_the_same_principal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asgi, "_PAUSE", -1)
    app = guarded_app(max_bodies_per_principal=150 * KIB)
    bens, adas = Sender(app, 90 * KIB, **BEN), Sender(app, 90 * KIB, **ADA)
    await rest()
    new = Sender(app, 90 * KIB, **ADA)
    assert await adas.status() == 429
    assert not bens.task.done()
    assert (await end_sent(bens), await end_sent(new)) == (400, 400)


async def test_principal_may_always_send_one_body() -> None:
    app = guarded_app(max_bodies=100 * KIB)
    sender = Sender(app, 100 * KIB, **ADA)
    await rest()
    assert app._running.state.bodies.quota.used == 100 * KIB
    await end_sent(sender)
