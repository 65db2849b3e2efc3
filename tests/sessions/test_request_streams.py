"""The streams of long requests of an extension: their order, their end, and what a side breaks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest
from mcp_protogen.runtime.client.request_stream import RequestStream, StreamClient, StreamingRuntime
from mcp_protogen.runtime.client.versions import VersionedClient, VersionedRuntime
from mcp_protogen.runtime.core.extensions import Extension
from mcp_protogen.runtime.core.options import CallOptions
from mcp_protogen.runtime.core.spec import NotificationSpec, RequestSpec, StreamPlace
from mcp_protogen.runtime.messages.envelope import SUBSCRIPTION_ID, members
from mcp_protogen.runtime.messages.extended_table import extended_table
from mcp_protogen.runtime.rules.handlers import RequestHandlers
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.server.extension_session import ExtensionSession
from mcp_revisions import (
    Disconnected,
    LocalError,
    McpError,
    Options,
    RemoteError,
    RequestTimeout,
    connect_in_memory,
)
from mcp_revisions import v2026_07_28 as mcp
from support.tables import case

m: Any = mcp.models
FOLLOW, BEGAN, NEWS, BEAT, ENDED = (
    *("news/follow", "notifications/news/began", "notifications/news"),
    *("notifications/news/beat", "notifications/news/ended"),
)
PLACES = {
    BEGAN: StreamPlace(FOLLOW, order="first"),
    NEWS: StreamPlace(FOLLOW),
    BEAT: StreamPlace(FOLLOW, every=0.1),
    ENDED: StreamPlace(FOLLOW, order="last"),
    "notifications/news/stopped": StreamPlace("subscriptions/listen", member="newsStopped"),
}
NOTIFICATIONS: dict[str, NotificationSpec[Any]] = {
    method: NotificationSpec(
        method,
        senders=frozenset({"server"}),
        load_params=lambda: m.LoggingMessageNotificationParams,
        stream=place,
    )
    for method, place in PLACES.items()
}
REQUESTS: dict[str, RequestSpec[Any, Any, Any]] = {
    FOLLOW: RequestSpec(
        FOLLOW,
        senders=frozenset({"client"}),
        load_params=lambda: m.RequestParams,
        load_results=lambda: (m.EmptyResult,),
        traits=frozenset({"cancellable", "long_lived"}),
    ),
    "news/count": RequestSpec(
        "news/count",
        senders=frozenset({"client"}),
        load_params=lambda: m.RequestParams,
        load_results=lambda: (m.EmptyResult,),
    ),
}
EXTENSION = Extension(
    identifier="example.org/news",
    revision="2026-07-28",
    requests=REQUESTS,
    notifications=NOTIFICATIONS,
    settings={"client": {}, "server": {}},
)


class NewsSession(ExtensionSession, mcp.Session):
    PRINCIPALS: ClassVar = {"news/count": -32024}


class OtherSession(ExtensionSession, mcp.Session):
    PRINCIPALS: ClassVar = {"other": -32024}


class OtherServer(ServerBase[Any]):
    EXTENSION = Extension(identifier="example.org/other", revision="2026-07-28")
    EXTENDED_TABLE = extended_table
    EXTENDED_SESSION: ClassVar[type[Any]] = OtherSession


class NewsServer(ServerBase[Any]):
    EXTENSION = EXTENSION
    EXTENDED_TABLE = extended_table
    EXTENDED_SESSION: ClassVar[type[Any]] = NewsSession
    REQUESTS: ClassVar[RequestHandlers] = {
        FOLLOW: (REQUESTS[FOLLOW], "follow"),
        "news/count": (REQUESTS["news/count"], "count"),
    }

    async def follow(self, session: Any, params: Any) -> Any: ...
    async def count(self, session: Any, params: Any) -> Any: ...


class NewsClient(StreamClient):
    EXTENSION = EXTENSION
    EXTENDED_TABLE = extended_table


class Client(VersionedClient, NewsClient, mcp.Client):
    """It might have the versions of another extension."""


Follow = Callable[[Any], Awaitable[None]]


def serving(follow: Follow) -> Any:
    class Server(OtherServer, NewsServer, mcp.Server):
        async def follow(self, session: Any, params: Any) -> Any:
            await follow(session)
            return m.EmptyResult()

        async def count(self, session: Any, params: Any) -> Any:
            raise AssertionError("the request was not refused")

    return Server()


def make_params(text: object) -> Any:
    return m.LoggingMessageNotificationParams(level="info", data=text)


async def tell(session: Any, *methods: str) -> None:
    for number, method in enumerate(methods):
        await session.notify(NOTIFICATIONS[method], make_params(number))


async def force(session: Any, *methods: str) -> None:
    """Send notifications of a stream in any order."""
    endpoint, id = session.__mcp_runtime__.endpoint, session.request_id
    for method in methods:
        meta = members({SUBSCRIPTION_ID: id})
        await endpoint.notify(NOTIFICATIONS[method], make_params(method), meta=meta)


def stream_of(client: Any) -> RequestStream[Any]:
    return RequestStream(client, REQUESTS[FOLLOW], None, CallOptions())


async def follow_through(server: Any, **options: Any) -> list[tuple[str, Any]]:
    """Return the notifications of a stream up to its end."""
    connecting = connect_in_memory(server, Client(), options=Options(**options))
    async with connecting as client, stream_of(client) as stream:
        return [(news.method, news.params.data) async for news in stream]


async def test_a_stream_has_its_notifications_in_order_up_to_the_last() -> None:
    async def follow(session: Any) -> None:
        await tell(session, BEGAN, NEWS, BEGAN, ENDED)
        await asyncio.Event().wait()  # the client need not wait for the result

    seen = await follow_through(serving(follow))
    assert seen == [(BEGAN, 0), (NEWS, 1), (BEGAN, 2), (ENDED, 3)]


def test_the_runtime_of_one_extension_does_not_replace_that_of_another() -> None:
    for bases in ((NewsClient, VersionedClient, mcp.Client), (Client,)):
        runtime = type("Both", bases, {})().__mcp_runtime__
        assert isinstance(runtime, VersionedRuntime)
        assert isinstance(runtime, StreamingRuntime)


async def test_two_streams_at_once_are_told_apart() -> None:
    numbers = iter(range(2))

    async def follow(session: Any) -> None:
        number = next(numbers)
        await tell(session, BEGAN)
        await session.notify(NOTIFICATIONS[NEWS], make_params(f"of {number}"))

    connecting = connect_in_memory(serving(follow), Client())
    async with connecting as client, stream_of(client) as one, stream_of(client) as other:
        seen = [[news.params.data async for news in stream] for stream in (one, other)]
    assert seen == [[0, "of 0"], [0, "of 1"]]


async def test_a_heartbeat_repeats_what_came_last_and_leaving_ends_the_handler() -> None:
    ended = asyncio.Event()

    async def follow(session: Any) -> None:
        await asyncio.sleep(0.3)  # nothing beats before a stream begins
        await asyncio.create_task(tell(session, BEGAN, NEWS))
        try:
            await asyncio.Event().wait()
        finally:
            with pytest.raises(Disconnected, match=f"the client no longer awaits {FOLLOW}"):
                await tell(session, NEWS)
            ended.set()

    async with connect_in_memory(serving(follow), Client()) as client:
        async with stream_of(client) as stream:
            seen = [await anext(stream) for _ in range(4)]
        await asyncio.wait_for(ended.wait(), 5)
    assert [(news.method, news.params.data) for news in seen[2:]] == [(BEAT, 1), (BEAT, 1)]


async def test_a_server_cannot_break_the_order_of_a_stream() -> None:
    cases = {
        (NEWS,): f"the stream of {FOLLOW} begins with {BEGAN}",
        (BEGAN, ENDED, NEWS): f"the stream of {FOLLOW} has ended with {ENDED}",
    }
    for methods, message in cases.items():
        with case(methods):
            refused: list[str] = []

            async def follow(session: Any, methods: Any = methods, found: Any = refused) -> None:
                try:
                    await tell(session, *methods)
                except LocalError as error:
                    found.append(str(error))
                    await force(session, BEGAN, ENDED)

            await follow_through(serving(follow))
            assert refused == [message]


async def test_a_notification_of_a_stream_does_not_come_elsewhere() -> None:
    class Server(NewsServer, mcp.Server):
        async def on_list_tools(self, session: Any, params: Any) -> Any:
            with pytest.raises(LocalError, match=f"{NEWS} only comes on the stream of {FOLLOW}"):
                await tell(session, NEWS)
            return m.ListToolsResult(tools=[])

    async with connect_in_memory(Server(), Client()) as client:
        assert (await client.list_tools()).tools == []


async def test_lists_stay_in_a_listen_stream_that_asks_for_more_than_a_server_follows() -> None:
    acknowledged = asyncio.get_running_loop().create_future()

    class Server(NewsServer, mcp.Server):
        SENDS = frozenset({"notifications/tools/list_changed"})

        async def on_list_tools(self, session: Any, params: Any) -> Any: ...

    class Listening(Client):
        async def on_subscriptions_acknowledged(self, params: Any) -> None:
            acknowledged.set_result(params.notifications.to_wire())

    async with connect_in_memory(Server(), Listening()) as client:
        wanted = m.SubscriptionFilter.from_wire({"toolsListChanged": True, "newsStopped": True})
        listening = asyncio.ensure_future(client.subscriptions_listen(notifications=wanted))
        assert await asyncio.wait_for(acknowledged, 5) == {"toolsListChanged": True}
        listening.cancel()


async def refuse(session: Any) -> None:
    raise McpError(-32023, "no such news")


async def end_at_once(session: Any) -> None: ...


async def begin_late(session: Any) -> None:
    await asyncio.Event().wait()


async def begin_otherwise(session: Any) -> None:
    await force(session, NEWS)
    await asyncio.Event().wait()


async def say_nothing(session: Any) -> None:
    await force(session, BEGAN)
    await asyncio.Event().wait()


async def say_too_much(session: Any) -> None:
    await force(session, BEGAN, *[NEWS] * 4)
    await asyncio.Event().wait()


async def test_a_stream_that_goes_wrong_ends_with_one_error() -> None:
    cases: dict[Follow, tuple[type[Exception], str]] = {
        refuse: (McpError, "no such news"),
        end_at_once: (RemoteError, f"the stream of {FOLLOW} begins with its end"),
        begin_late: (RequestTimeout, f"{FOLLOW} was not answered within 1 s"),
        begin_otherwise: (RemoteError, f"the stream of {FOLLOW} begins with {NEWS}"),
        say_nothing: (Disconnected, f"the stream of {FOLLOW} has said nothing for 0.2 s"),
    }
    for follow, (kind, message) in cases.items():
        with case(follow.__name__), pytest.raises(kind, match=message):
            await follow_through(serving(follow), timeout=1.0)
    async with (
        connect_in_memory(
            serving(say_too_much), Client(), options=Options(max_waiting=3)
        ) as client,
        stream_of(client) as stream,
    ):
        await asyncio.sleep(0.05)
        with pytest.raises(LocalError, match=f"more than 3 notifications of {FOLLOW} wait"):
            [news async for news in stream]


async def test_a_request_without_the_sender_that_it_needs_is_refused() -> None:
    async with connect_in_memory(serving(end_at_once), Client()) as client:
        with pytest.raises(McpError, match="news/count needs an authenticated sender") as refused:
            await client.request(REQUESTS["news/count"], None)
    assert refused.value.code == -32024
