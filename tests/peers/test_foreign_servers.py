"""A client made of our stubs against servers that others wrote, as processes.

`test_http_foreign_servers.py` has client classes of one revision that speak others.
"""

import asyncio
import os
from pathlib import Path
from typing import Any, cast

import mcp_revisions
import pytest
from mcp_revisions.v2025_11_25 import Client
from mcp_revisions.v2025_11_25.models import (
    CreateMessageRequestParams,
    ElicitRequestParams,
    LoggingMessageNotificationParams,
    NotificationParams,
    RequestParams,
    ResourceUpdatedNotificationParams,
)
from mcp_revisions.v2026_07_28.models import SubscriptionsAcknowledgedNotificationParams
from support.json_types import JsonObject
from support.peers.places import PROGRAMS, node_modules, python_with
from support.peers.spoken import GENERATION_1, GENERATION_2
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS
from support.sessions.talking import content_of


def client_of(revision: str) -> Any:
    """Return a client of one revision that answers requests, and records notifications."""
    mcp: Any = mcp_revisions.load(revision)
    m = mcp.models

    class Host(mcp.Client):  # type: ignore[misc]
        def __init__(self) -> None:
            self.heard: list[str] = []
            self.logs: list[object] = []
            self.listening = asyncio.Event()

        async def on_create_message(self, params: CreateMessageRequestParams) -> object:
            text = m.TextContent(text="sampled")
            return m.CreateMessageResult(role="assistant", model="model", content=text)

        async def on_list_roots(self, params: RequestParams) -> object:
            return m.ListRootsResult(roots=[m.Root(uri="file:///root")])

        async def on_logging_message(self, params: LoggingMessageNotificationParams) -> None:
            self.logs.append(params.data)

        async def on_tool_list_changed(self, params: NotificationParams) -> None:
            self.heard.append("tools")

        async def on_resource_updated(self, params: ResourceUpdatedNotificationParams) -> None:
            self.heard.append(params.uri)

    class Eliciting(Host):
        async def on_elicit(self, params: ElicitRequestParams) -> object:
            return m.ElicitResult(action="accept", content={"name": "ada"})

        async def on_subscriptions_acknowledged(
            self, params: SubscriptionsAcknowledgedNotificationParams
        ) -> None:
            self.listening.set()

    return Host() if revision < "2025-06-18" else Eliciting()


async def use(client: Any) -> JsonObject:
    """Do everything once; return the results."""
    own: str = client.TABLE.revision
    m = mcp_revisions.load(own).models
    seen: JsonObject = {"progress": []}

    async def call(name: str, **options: Any) -> str:
        params = m.CallToolRequestParams(name=name, arguments={"text": "hi", "to": 3})
        if own not in HANDSHAKE:
            params.meta = m.RequestMetaObject(log_level="debug")
        result = await client.request(client.TABLE.requests["tools/call"], params, **options)
        text: str = result.content[0].text
        return text

    def note_progress(progress: tuple[Any, ...]) -> None:
        seen["progress"].append(tuple(progress))

    seen["tools"] = [tool.name async for tool in client.iter_tools()]
    seen["resources"] = [resource.uri async for resource in client.iter_resources()]
    read = await client.read_resource("file:///a")
    seen["read"] = read.contents[0].text
    seen["prompts"] = [listed.name async for listed in client.iter_prompts()]
    arguments = {"name": "ada"}
    prompt = await client.get_prompt("greet", arguments)
    seen["prompt"] = prompt.messages[0].content.text
    completed = await client.complete(
        m.PromptReference(name="greet"), m.CompleteRequestParamsArgument(name="name", value="a")
    )
    seen["completed"] = completed.completion.values
    for name in ("echo", "log", "sample", "roots"):
        seen[name] = await call(name)
    if client.revision >= "2025-06-18" and own >= "2025-06-18":
        seen["ask"] = await call("ask")
    await call("count", on_progress=note_progress)
    await (listen if own not in HANDSHAKE else subscribe)(client, m, call)
    with pytest.raises(mcp_revisions.RequestTimeout):
        await call("sleep", timeout=0.2)
    seen["after"] = await call("echo")
    return seen


async def subscribe(client: Any, m: Any, call: Any) -> None:
    await client.ping()
    await client.set_level("info")
    await client.subscribe("file:///a")
    await call("change")
    await client.unsubscribe("file:///a")


async def listen(client: Any, m: Any, call: Any) -> None:
    wanted = m.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=["file:///a"])
    stream = asyncio.create_task(client.subscriptions_listen(wanted))
    await client.listening.wait()
    await call("change")
    while len(client.heard) < 2:
        await asyncio.sleep(0.01)
    stream.cancel()
    await asyncio.gather(stream, return_exceptions=True)


def talk_to(server: list[str | Path], client: Any) -> JsonObject:
    async def main() -> JsonObject:
        async with asyncio.timeout(30):
            launch = mcp_revisions.stdio_client(server)
            async with mcp_revisions.connect(launch, client) as connected:
                assert connected is client
                assert client.instructions == "Call whatever you like."
                assert client.server_info.name == "everything"
                assert client.server_capabilities.tools is not None
                return await use(client)

    return asyncio.run(main())


def check(seen: JsonObject, client: Any) -> None:
    progress = [(number, 3, f"at {number}") for number in (1, 2, 3)]
    expected = {
        "tools": ["ask", "change", "count", "echo", "log", "roots", "sample", "sleep"],
        "resources": ["file:///a"],
        "read": "content of a",
        "prompts": ["greet"],
        "prompt": "Greet ada",
        "completed": ["ada", "alan"],
        "echo": "hi",
        "log": "done",
        "sample": "model sampled",
        "roots": "file:///root",
        "after": "hi",
    }
    assert {key: seen[key] for key in expected} == expected
    assert seen.get("ask", "accept ada") == "accept ada"
    assert [step[:2] for step in seen["progress"]] == [step[:2] for step in progress]
    assert sorted(client.heard) == ["file:///a", "tools"]
    assert client.logs == [{"said": "logged"}]


@pytest.mark.shows("S2-06", "S4-05")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_2)
def test_the_python_sdk_of_generation_2(revision: str) -> None:
    client = client_of(revision)
    check(talk_to([python_with("mcp-2"), PROGRAMS / "mcp2_server.py"], client), client)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_1(revision: str) -> None:
    client = client_of(revision)
    check(talk_to([python_with("mcp-1"), PROGRAMS / "mcp1_server.py"], client), client)


SPOKEN = {"mcp-1": GENERATION_1, "mcp-2": GENERATION_2}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("environment", "revision"),
    [
        (name, spoken_revision)
        for name, spoken in SPOKEN.items()
        for spoken_revision in REVISIONS
        if spoken_revision not in spoken
    ],
)
def test_a_client_of_what_the_python_sdk_does_not_speak_says_so(
    environment: str, revision: str
) -> None:
    with pytest.raises(mcp_revisions.NegotiationError, match=f"the client allows {revision}"):
        talk_to(server_in(environment), client_of(revision))


def server_in(environment: str) -> list[str | Path]:
    program = f"{environment.replace('-', '')}_server.py"
    return [python_with(environment), PROGRAMS / program]


@pytest.mark.parametrize(("environment", "spoken"), SPOKEN.items())
def test_a_client_of_both_eras_finds_out_which_one_a_server_is_of(
    environment: str, spoken: tuple[str, ...]
) -> None:
    server = server_in(environment)

    async def main() -> None:
        clients = [client_of(revision) for revision in REVISIONS]
        launch = mcp_revisions.stdio_client(server)
        async with mcp_revisions.connect(launch, *clients) as client:
            assert client.revision == spoken[-1]
            negotiated = client.negotiated
        async with mcp_revisions.connect(launch, *clients, negotiated=negotiated) as client:
            assert client.negotiated == negotiated

    asyncio.run(main())


def test_the_reference_server_from_npm() -> None:
    modules = node_modules()
    server = modules / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"

    async def main() -> None:
        clients = [client_of(revision) for revision in ERAS]
        launch = mcp_revisions.stdio_client(["node", server, "stdio"], inherit=True)
        async with asyncio.timeout(30):
            async with mcp_revisions.connect(launch, *clients) as connected:
                client = cast(Client, connected)
                assert client.revision == GENERATION_1[-1]
                assert "echo" in [tool.name async for tool in client.iter_tools()]
                result = await client.call_tool("echo", {"message": "hi"})
                assert "hi" in content_of(result)[0].text
                assert [resource async for resource in client.iter_resources()]

    asyncio.run(main())


def test_launched_server_leaves_no_open_files() -> None:
    before = set(os.listdir("/proc/self/fd"))
    talk_to([python_with("mcp-2"), PROGRAMS / "mcp2_server.py"], client_of(OLD))
    assert set(os.listdir("/proc/self/fd")) == before
