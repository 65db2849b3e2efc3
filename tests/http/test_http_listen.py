"""Listen streams of 2026-07-28: their events, and their ends."""

import asyncio
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from support.http.serving import EVENTS, outcome, serving, text_in
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import pkg, tools, whose
from support.tables import case

ID = "io.modelcontextprotocol/subscriptionId"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"
ALL = frozenset({TOOLS, PROMPTS, RESOURCES, UPDATED, "notifications/message"})


async def echo(session: Session, params: CallToolRequestParams) -> str:
    await session.log("info", "said")
    return str(params.name)


def ours(**members: Any) -> Any:
    return tools(STATELESS, echo, SENDS=ALL, **members)


async def publish(server: Any) -> None:
    await server.tools_list_changed()
    await server.prompts_list_changed()
    await server.resources_list_changed()
    await server.resource_updated("file:///a")
    await server.resource_updated("file:///b")


async def test_listening_is_acknowledged_and_brings_events_under_its_id() -> None:
    server = ours()
    async with serving(server) as site:
        wanted = {"promptsListChanged": True, "resourceSubscriptions": ["file:///b"]}
        asking = site.modern_stream("subscriptions/listen", id="s", notifications=wanted)
        async with asking as events:
            assert events.response.status_code == 200
            assert events.response.headers["content-type"] == EVENTS
            assert await events.take() == {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": wanted, "_meta": {ID: "s"}},
            }
            await publish(server)
            first, second = await events.take(), await events.take()
            assert (first["method"], first["params"]) == (PROMPTS, {"_meta": {ID: "s"}})
            assert second["method"] == UPDATED
            assert second["params"] == {"uri": "file:///b", "_meta": {ID: "s"}}
            assert await events.is_silent()


async def test_a_server_that_closes_ends_it_in_words_and_with_an_answer() -> None:
    server = ours()
    async with serving(server) as site, site.listening("s", toolsListChanged=True) as events:
        await site.app.close()
        said = [event.message for event in await events.all()]
        assert said[-1]["id"] == "s"
        assert said[-1]["result"]["resultType"] == "complete"
        assert said[-1]["result"]["_meta"][ID] == "s"


async def test_the_server_goes_on_after_it_was_closed_and_called_again() -> None:
    server = ours()
    async with serving(server) as site:
        await site.app.close()
        async with site.listening(toolsListChanged=True) as events:
            await server.tools_list_changed()
            assert (await events.take())["method"] == TOOLS


async def test_invalid_listening_is_refused() -> None:
    async with serving(ours()) as site:
        several: list[JsonObject] = [{}, {"notifications": 5}]
        for params in several:
            with case(params):
                answer = await site.modern("subscriptions/listen", **params)
                assert outcome(answer) == (200, -32602)


class TestCancelling:
    async def test_a_cancelled_message_does_not_cancel_over_http(self) -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def waits(session: Session, params: CallToolRequestParams) -> str:
            begun.set()
            await go.wait()
            return "done"

        async with serving(tools(STATELESS, waits)) as site:
            asking = asyncio.create_task(site.modern("tools/call", id=4, name="x"))
            await begun.wait()
            stop = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
            answer = await site.post(
                {**stop, "params": {"requestId": 4}}, {"mcp-protocol-version": STATELESS}
            )
            assert answer.status_code == 202
            go.set()
            assert text_in(await asking) == "done"


async def test_handlers_of_subscriptions_know_whose_stream_it_is() -> None:
    seen: list[tuple[str, Any]] = []
    left = asyncio.Event()

    async def on_subscribe(self: object, session: Session, params: SubscribeRequestParams) -> None:
        seen.append(("subscribed", whose(session)))

    async def on_unsubscribe(
        self: object, session: Session, params: UnsubscribeRequestParams
    ) -> None:
        seen.append(("unsubscribed", whose(session)))
        left.set()

    server = tools(
        "2025-11-25", echo, SENDS=ALL, on_subscribe=on_subscribe, on_unsubscribe=on_unsubscribe
    )
    verify = pkg.static_tokens({"a" * 16: pkg.Principal("ada")})
    guard = pkg.Authentication(verify=verify)
    async with serving(server, pkg.REVISIONS, authentication=guard) as site:
        asking = site.modern_stream(
            "subscriptions/listen",
            headers={"authorization": f"Bearer {'a' * 16}"},
            notifications={"resourceSubscriptions": ["file:///a"]},
        )
        async with asking as events:
            await events.take()
            await server.resource_updated("file:///a")
            assert (await events.take())["method"] == UPDATED
        await left.wait()
        assert seen == [("subscribed", "ada"), ("unsubscribed", "ada")]
