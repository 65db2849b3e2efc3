"""Tasks of servers behind a gateway over HTTP: principals, sessions and connections."""

import asyncio
from typing import Any, cast

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.runtime.toolkit.remotes import Remote, RemoteKey
from mcp_protogen.servers.gateway.settings.settings import RuleSettings
from mcp_protogen.servers.gateway.tasks import owned
from mcp_revisions import McpError
from support.auth.guarding import GUARD, READING, WRITING, bearing
from support.gateway.exchanging import exchanging
from support.gateway.gateways import behind, client_at, gateway_settings, serve_gateway
from support.gateway.listing import tool
from support.http.serving import Site, outcome
from support.revisions import OLD, STATELESS
from support.sessions.talking import Accepting, Hand, pkg, request
from support.tables import case
from support.tasks.by_hand import ScriptedServer, core_task
from support.tasks.gateway import CLIENTS, OPTIONS, PAIRS, SERVERS
from support.tasks.principals import WHO, of


@pytest.mark.parametrize(("client", "server"), PAIRS)
async def test_task_belongs_to_its_principal_in_all_sessions(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    settings = gateway_settings(behind("up", in_memory(theirs, options=pkg.Options(**OPTIONS))))
    async with serve_gateway(settings, authentication=WHO) as site:
        async with client_at(site.url, CLIENTS[client](), **of("ann")) as ann:
            handle = await ann.start_task("up_slow")
            async with client_at(site.url, CLIENTS[client](), **of("bob")) as bob:
                for ask in ("status", "cancel", "result"):
                    with case(ask), pytest.raises(McpError) as raised:
                        await getattr(bob.task(handle.to_json()), ask)()
                    assert raised.value.code == -32602
                if client == OLD:
                    assert (await bob.list_tasks()).tasks == []
        # The session has ended; its connection to the server has not.
        theirs.go_on.set()
        async with client_at(site.url, CLIENTS[client](), **of("ann")) as again:
            if client == OLD:
                (listed,) = (await again.list_tasks()).tasks
                assert listed.task_id == handle.id
            assert (await again.task(handle.to_json()).result()).text == "slow is done"
    assert theirs.runs == 1


async def unknown_to(site: Site, client: str, handle: Any, token: str) -> None:
    """Ask for a task that a client with a token must not know."""
    async with client_at(site.url, CLIENTS[client](), **bearing(token)) as one:
        for ask in ("status", "cancel", "result"):
            with case(ask), pytest.raises(McpError, match="Unknown task") as raised:
                await getattr(one.task(handle.to_json()), ask)()
            assert raised.value.code == -32602
        if client == OLD:
            assert (await one.list_tasks()).tasks == []


@pytest.mark.parametrize(("client", "server"), PAIRS)
async def test_task_of_a_tool_is_hidden_as_the_tool_is(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    rule = RuleSettings(servers=("up",), tools=("slow",), scopes=frozenset({"write"}))
    up = behind("up", in_memory(theirs, options=pkg.Options(**OPTIONS)))
    settings = gateway_settings(up, rules=(rule,))
    async with (
        serve_gateway(settings, authentication=GUARD) as site,
        client_at(site.url, CLIENTS[client](), **bearing(WRITING)) as ada,
    ):
        handle = await ada.start_task("up_slow")
        await unknown_to(site, client, handle, READING)
        theirs.go_on.set()
        assert (await handle.result()).text == "slow is done"


@pytest.mark.parametrize(("client", "server"), PAIRS)
async def test_task_with_the_token_of_one_client_is_not_that_of_another(
    client: str, server: str
) -> None:
    theirs = SERVERS[server]()
    async with exchanging(theirs) as made:
        async with client_at(made.site.url, CLIENTS[client](), **bearing(WRITING)) as ada:
            handle = await ada.start_task("up_slow")
            await unknown_to(made.site, client, handle, READING)
            theirs.go_on.set()
            assert (await handle.result()).text == "slow is done"
        assert {*made.endpoint.owners.values()} <= {WRITING}


async def test_connection_with_a_running_task_is_not_the_one_that_makes_room() -> None:
    for client in (OLD, STATELESS):
        theirs = [SERVERS[OLD]() for _ in range(3)]
        left = iter(theirs)

        async def open_one(left: Any = left) -> Any:
            return await in_memory(next(left), options=pkg.Options(**OPTIONS))()

        settings = gateway_settings(behind("up", open_one, max_connections=1))
        with case(client):
            async with serve_gateway(settings, authentication=WHO) as site:
                ann = client_at(site.url, CLIENTS[client](), **of("ann"))
                bob = client_at(site.url, CLIENTS[client](), **of("bob"))
                async with ann as one, bob as other:
                    handle = await one.start_task("up_slow")
                    await theirs[0].began.wait()
                    await other.call_tool("up_quick")
                    theirs[0].go_on.set()
                    assert (await handle.result()).text == "slow is done"
            assert not theirs[0].stopped.is_set()


async def test_connection_of_a_client_that_has_gone_ends_with_the_last_of_its_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = asyncio.Event()

    async def play(hand: Hand) -> None:
        await served.play(hand)
        ended.set()

    monkeypatch.setattr(owned, "LAPSED_FOR", 0)
    tools = [tool("x", execution={"taskSupport": "required"})]
    created = {"task": core_task("t", ttl=200)}
    served = ScriptedServer(OLD, tools_list=[{"tools": tools}], tools_call=[created])
    settings = gateway_settings(behind("up", Accepting(play), revision=OLD))
    async with serve_gateway(settings) as site:
        async with client_at(site.url, CLIENTS[OLD]()) as one:
            await one.start_task("up_x")
        await ended.wait()


async def test_server_that_gives_an_id_twice_has_one_task() -> None:
    remote, user = Remote(RemoteKey(None, OLD), None), cast(Any, object())
    tasks = owned.OwnedTasks(lambda _: None)
    for status in ("working", "completed"):
        state = core_task("up:t", status=status)
        tasks.add(owned.OwnedTask("up:t", "t", "ann", "up_x", remote, user, state))
        assert len([*tasks]) == 1
    # The connection waits for no task.
    assert remote.users == []
    (task,) = tasks
    tasks.forget(task)


async def test_tasks_are_listed_only_if_clients_are_told_apart() -> None:
    for authentication, code in ((None, -32601), (WHO, None)):
        async with serve_gateway(gateway_settings(), authentication=authentication) as site:
            session = await site.initialize(OLD, {} if authentication is None else of("ann"))
            response = await session.post(request("tasks/list"))
            with case(code):
                assert outcome(response)[1] == code
