"""Capabilities in a session. Tests carry the ids of the rows of the decision tables they show."""

import asyncio
from typing import Any, cast

import pytest
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, ElicitRequestURLParams
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import serve_bridged
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    content_of,
    entry,
    hello,
    models,
    modern,
    pkg,
    request,
    serve_by_hand,
    shaken,
    tools,
    welcome,
)
from support.sessions.wiretap import agree, shake
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


def by_url(revision: str) -> Any:
    m = models(revision)
    required = {"elicitation_id": "e"} if revision == OLD else {}
    return m.ElicitRequestURLParams(message="Log in", url="https://example.com", **required)


async def log_in(session: Any, params: CallToolRequestParams) -> object:
    m = models(session.revision)
    if session.revision == OLD:
        return (await session.request(entry(session, "elicitation/create"), by_url(OLD))).action
    if session.inputs is None:
        return session.input_required({"login": m.ElicitRequest(params=by_url(STATELESS))})
    return session.inputs.response("login", m.ElicitResult).action


def answering(revision: str, **members: Any) -> Any:
    async def on_elicit(self: object, params: ElicitRequestURLParams) -> object:
        assert params.url == "https://example.com"
        return models(revision).ElicitResult(action="accept")

    return client(revision, on_elicit=on_elicit, **members)


async def test_CN06_an_empty_elicitation_capability_means_forms_only() -> None:
    for revision in ERAS:
        with case(revision):
            async with pkg.connect_in_memory(answering(revision), tools(revision, log_in)) as ours:
                with pytest.raises(pkg.McpError) as caught:
                    await ours.call_tool("x")
                assert caught.value.code == (-32603 if revision == OLD else -32021)
            willing = answering(revision, DECLARES={"elicitation": {"url": {}}})
            async with pkg.connect_in_memory(willing, tools(revision, log_in)) as ours:
                assert (await ours.call_tool("x")).content[0].text == "accept"


async def test_CN06_a_client_refuses_a_mode_it_did_not_declare() -> None:
    heard: list[Any] = []

    async def play(hand: Hand) -> None:
        await hand.send(welcome((await hand.take())["id"]))
        await hand.take()
        await hand.send(request("elicitation/create", 5, **by_url(OLD).to_wire()))
        heard.append(await hand.take())
        while await hand.take():
            pass

    async with pkg.connect(Accepting(play), answering(OLD)):
        while not heard:
            await asyncio.sleep(0.01)
    assert heard[0]["error"]["code"] == -32602


async def extensions(
    session: stateless.Session, params: stateless.models.CallToolRequestParams
) -> str:
    """A tool that says which extensions the client declares."""
    return str(session.client_capabilities.extensions)


async def test_no_extension_is_on_unless_a_side_declares_it() -> None:
    theirs = cast(stateless.Client, client(STATELESS))
    async with pkg.connect_in_memory(theirs, tools(STATELESS, extensions)) as one:
        assert one.server_capabilities.extensions is None
        assert content_of(await one.call_tool("x"))[0].text == "None"


@pytest.mark.shows("EX-01")
async def test_CN07_extensions_of_both_sides_are_known_to_both() -> None:
    ours: Any = {"com.example/ours": {"depth": 3}}
    server = tools(STATELESS, extensions, DECLARES={"extensions": {"com.example/theirs": {}}})
    theirs = cast(stateless.Client, client(STATELESS, DECLARES={"extensions": ours}))
    async with pkg.connect_in_memory(theirs, server) as one:
        assert one.server_capabilities.extensions == {"com.example/theirs": {}}
        assert content_of(await one.call_tool("x"))[0].text == str(ours)


async def test_a_handler_left_alone_is_not_declared_and_not_found() -> None:
    async with shaken(tools(OLD, log_in)) as hand:
        assert (await hand.ask("prompts/get", 1, name="p"))["error"]["code"] == -32601
    async with serve_by_hand(tools(STATELESS, log_in)) as hand:
        await hand.send(modern("prompts/get", 1, name="p"))
        assert (await hand.take())["error"]["code"] == -32601


@pytest.mark.parametrize("revision", ERAS)
async def test_python_named_capability_is_passed_on_unchanged(revision: str) -> None:
    declared = {"tools": {"list_changed": True}}
    opening = {OLD: hello(), STATELESS: modern("server/discover")}
    begin = {OLD: shake, STATELESS: agree}
    async with serve_bridged(Accepting(lambda hand: begin[revision](hand, **declared))) as hand:
        await hand.send(opening[revision])
        assert (await hand.take())["result"]["capabilities"] == declared
