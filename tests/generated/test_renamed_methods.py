"""Sessions with revisions in which methods and a type have other names."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from itertools import permutations, product
from typing import Any

import pytest
from mcp_protogen.runtime.features.telemetry import Telemetry
from mcp_protogen.runtime.messages.envelope import PROTOCOL_VERSION
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from support.auth.guarding import allowing, telling
from support.generated.connecting import connect_by_bridge
from support.generated.renamed_revisions import (
    AGAIN,
    RENAMED,
    REVISIONS,
    name_in,
    write_package,
)
from support.http.serving import serving
from support.json_types import Json
from support.revisions import NEWEST, OLD
from support.sessions.talking import META
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

NAME = "package_with_other_names"


@pytest.fixture(scope="module")
def pkg(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package of all these revisions."""
    place = tmp_path_factory.mktemp("renamed")
    write_package(place / NAME)
    sys.path.insert(0, str(place))
    return import_module(NAME)


def revisions_of(pkg: Any, id: str) -> list[Any]:
    return [revision for revision in pkg.REVISIONS if revision.id == id]


def note(met: list[str]) -> Any:
    """Return middleware that notes the methods it meets."""

    async def note(call: Any, following: Any) -> Any:
        met.append(call.method)
        return await following(call)

    return note


def make_server(pkg: Any, revision: str, met: list[str]) -> Any:
    """Return a server with tools that ask, sample a model, and log."""
    mcp = pkg.load(revision)
    m = mcp.models

    async def ask(self: Any, session: Any) -> str:
        answer = await session.ask("Sure?", bool)
        return f"{answer == pkg.Accepted(True)}, {session.client_info.name}"

    async def work(self: Any, session: Any) -> str:
        answer = await session.ask("Sure?", bool)
        return f"sure: {answer == pkg.Accepted(True)}"

    async def sample(self: Any, session: Any) -> str:
        said = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message(messages=[said], max_tokens=5)
        return str(answer.content.text)

    async def log(self: Any, session: Any) -> str:
        await session.progress(1, 2)
        await session.log("warning", "hot")
        return "logged"

    for tool in (ask, sample, log, work):
        tool.__annotations__["session"] = mcp.Session
    tools = {tool.__name__: pkg.tool(tool) for tool in (ask, sample, log)}
    tools["work"] = pkg.tool(task=True)(work)
    members = {**tools, "middleware": (note(met),)}
    type_name = name_in(revision, "Implementation")
    members["info"] = getattr(m, type_name)(name="server", version="1")
    bases = (import_module(f"{mcp.__name__}.ext.tasks").TasksServer,) if revision == NEWEST else ()
    return type("Asking", (*bases, pkg.Toolkit, mcp.Server), members)()


def make_client(pkg: Any, revision: str, met: list[str], logged: list[object]) -> Any:
    """Return a client that answers every question."""
    mcp = pkg.load(revision)
    m = mcp.models

    async def on_elicit(self: Any, params: Any) -> Any:
        return m.ElicitResult(action="accept", content={"value": True})

    async def on_create_message(self: Any, params: Any) -> Any:
        text = m.TextContent(text="Ada")
        return m.CreateMessageResult(role="assistant", model="m", content=text)

    async def on_logging_message(self: Any, params: Any) -> None:
        logged.append(params.data)

    info = getattr(m, name_in(revision, "Implementation"))(name="client", version="1")
    bases: tuple[Any, ...] = (pkg.TaskCalls,)
    if revision == NEWEST:
        bases = (import_module(f"{mcp.__name__}.ext.tasks").TasksClient,)
    handlers = {
        "on_elicit": on_elicit,
        "on_create_message": on_create_message,
        "on_logging_message": on_logging_message,
    }
    return type(
        "Patient",
        (*bases, mcp.Client),
        {**handlers, "info": info, "middleware": (note(met),)},
    )()


@asynccontextmanager
async def connect(pkg: Any, server: Any, client: Any, spoken: str) -> AsyncGenerator[Any, None]:
    opener = pkg.in_memory(server, revisions=pkg.REVISIONS)
    async with pkg.connect(opener, client, revisions=revisions_of(pkg, spoken)) as connected:
        yield connected


async def test_questions_reach_both_sides_under_their_own_names(pkg: Any) -> None:
    for ours, theirs, spoken in product(REVISIONS, repeat=3):
        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            met: tuple[list[str], list[str]] = [], []
            server, client = make_server(pkg, theirs, met[1]), make_client(pkg, ours, met[0], [])
            async with connect(pkg, server, client, spoken) as connected:
                assert connected.server_info.name == "server"
                assert (await connected.call_tool("ask")).text == "True, client"
                assert (await connected.call_tool("sample")).text == "Ada"
            asked = {name_in(ours, "elicitation/create"), name_in(ours, "sampling/createMessage")}
            assert asked <= {*met[0]}, met


async def test_questions_pass_through_bridges_between_other_names(pkg: Any) -> None:
    for ours, theirs in permutations(REVISIONS, 2):
        with case(f"a bridge between a client of {ours} and a server of {theirs}"):
            logged = list[object]()
            server, client = make_server(pkg, theirs, []), make_client(pkg, ours, [], logged)
            async with connect_by_bridge(pkg, client, server) as connected:
                assert connected.server_info.name == "server"
                assert (await connected.call_tool("ask")).text == "True, client"
                assert (await connected.call_tool("sample")).text == "Ada"
                m = pkg.load(ours).models
                meta = {} if ours == OLD else {"meta": m.RequestMetaObject(log_level="info")}
                assert (await connected.call_tool("log", **meta)).text == "logged"
            assert logged == ["hot"]


async def test_questions_of_tasks_reach_clients_under_their_own_names(
    pkg: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # The other revisions have no tasks on the wire.
    for ours, theirs, spoken in product(REVISIONS, REVISIONS, (OLD, NEWEST)):
        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            met = list[str]()
            server, client = make_server(pkg, theirs, []), make_client(pkg, ours, met, [])
            async with connect(pkg, server, client, spoken) as connected:
                handle = await connected.start_task("work")
                with pytest.raises(pkg.RequestTimeout) as caught:
                    await handle.result(max_timeout=0)
                assert caught.value.method == name_in(ours, "tools/call")
                assert (await handle.result()).text == "sure: True"
                assert handle.id is not None
            assert name_in(ours, "elicitation/create") in met
            assert "execution" not in caplog.text


async def test_results_are_checked_by_changed_tools_whatever_tells_of_the_change(pkg: Any) -> None:
    for ours in REVISIONS:

        async def number(self: Any) -> int:
            return 1

        async def word(self: Any) -> str:
            return "x"

        with case(f"a client of {ours}"):
            bases = (pkg.Toolkit, pkg.load(OLD).Server)
            server = type("Changing", bases, {"read": pkg.tool(number, name="read")})()
            client = type("Checking", (pkg.CheckedResults, pkg.load(ours).Client), {})()
            async with connect(pkg, server, client, OLD) as connected:
                assert (await connected.call_tool("read")).data == {"result": 1}
                server.remove_tool("read")
                server.add_tool(word.__get__(server), name="read")
                await asyncio.sleep(0.05)
                assert (await connected.call_tool("read")).data == {"result": "x"}


async def test_spans_name_tools_whatever_calls_them(pkg: Any) -> None:
    for ours, theirs in product(REVISIONS, repeat=2):
        exporter, tracers = InMemorySpanExporter(), TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        with case(f"a client of {ours} and a server of {theirs}"):
            server, client = make_server(pkg, theirs, []), make_client(pkg, ours, [], [])
            server.middleware = client.middleware = (Telemetry(tracer_provider=tracers),)
            async with connect(pkg, server, client, theirs) as connected:
                await connected.call_tool("log")
            spans = exporter.get_finished_spans()
            named = {span.name for span in spans if (span.attributes or {}).get("gen_ai.tool.name")}
            assert named == {f"{name_in(own, 'tools/call')} log" for own in (ours, theirs)}


async def test_questions_in_results_reach_both_sides_under_their_own_names(pkg: Any) -> None:
    for ours, theirs, spoken in product(REVISIONS, (NEWEST, RENAMED, AGAIN), REVISIONS):
        m = pkg.load(theirs).models

        async def on_call_tool(self: Any, session: Any, params: Any, m: Any = m) -> Any:
            if session.inputs is None:
                form = m.ElicitRequestFormParams(message="?", requested_schema=FORM)
                said = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
                sampling = m.CreateMessageRequestParams(messages=[said], max_tokens=5)
                asked = {"form": m.ElicitRequest(params=form)}
                asked["model"] = m.CreateMessageRequest(params=sampling)
                return session.input_required(asked, state=1)
            form = session.inputs.response("form", m.ElicitResult)
            model = session.inputs.response("model", m.CreateMessageResult)
            text = m.TextContent(text=f"{form.content} {model.content.text}")
            return m.CallToolResult(content=[text])

        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            server = type("Asking", (pkg.load(theirs).Server,), {"on_call_tool": on_call_tool})()
            async with connect(pkg, server, make_client(pkg, ours, [], []), spoken) as connected:
                result = await connected.call_tool("x")
                assert result.content[0].text == "{'value': True} Ada"


FORM: Json = {"type": "object", "properties": {"value": {"type": "boolean"}}}


async def test_log_entries_arrive_whatever_their_notification_is_called(pkg: Any) -> None:
    for ours, theirs, spoken in product(REVISIONS, repeat=3):
        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            logged, seen = list[object](), list[Any]()
            server, client = make_server(pkg, theirs, []), make_client(pkg, ours, [], logged)
            async with connect(pkg, server, client, spoken) as connected:
                m, options = pkg.load(ours).models, {"on_progress": seen.append}
                if ours != OLD:
                    options["meta"] = m.RequestMetaObject(log_level="info")
                result = await connected.call_tool("log", **options)
                assert result.content[0].text == "logged"
            assert logged == ["hot"]
            assert [progress.done for progress in seen] == [1]


async def test_scopes_of_a_method_hold_whatever_clients_call_it(pkg: Any) -> None:
    m = pkg.load(NEWEST).models

    async def on_complete(self: Any, session: Any, params: Any) -> Any:
        return m.CompleteResult(completion=m.CompleteResultCompletion(values=["x"]))

    server = type("Completing", (pkg.load(NEWEST).Server,), {"on_complete": on_complete})()
    guard = telling(method_scopes={"completion/complete": {"look"}})
    about: Json = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": ARGUMENT}
    async with serving(server, pkg.REVISIONS, authentication=guard) as site:
        for spoken in (NEWEST, RENAMED, AGAIN):
            with case(spoken):
                meta: Json = {**META, PROTOCOL_VERSION: spoken}
                method = name_in(spoken, "completion/complete")
                refused = await site.modern(method, meta=meta, headers=allowing(), **about)
                assert refused.status_code == 403
                given = await site.modern(method, meta=meta, headers=allowing("look"), **about)
                assert given.json()["result"]["completion"]["values"] == ["x"]


ARGUMENT: Json = {"name": "a", "value": ""}


async def test_timeouts_and_cancellation_are_those_of_own_names(pkg: Any) -> None:
    for ours, theirs in permutations((NEWEST, RENAMED, AGAIN), 2):
        cancelled = asyncio.Event()

        async def on_complete(
            self: Any, session: Any, params: Any, cancelled: asyncio.Event = cancelled
        ) -> None:
            try:
                await asyncio.sleep(100)
            finally:
                cancelled.set()

        with case(f"a client of {ours} and a server of {theirs}"):
            server = type("Slow", (pkg.load(theirs).Server,), {"on_complete": on_complete})()
            options = pkg.Options(timeouts={name_in(ours, "completion/complete"): 0.5})
            opener = pkg.in_memory(server, revisions=pkg.REVISIONS)
            client = make_client(pkg, ours, [], [])
            async with pkg.connect(opener, client, options=options) as connected:
                ref = pkg.load(ours).models.PromptReference(name="p")
                with pytest.raises(pkg.RequestTimeout) as caught:
                    await connected.complete(ref=ref, argument=ARGUMENT)
                assert caught.value.method == name_in(ours, "completion/complete")
                assert "0.5 s" in str(caught.value)
                await asyncio.wait_for(cancelled.wait(), 5)


def test_first_names_tell_the_usual_timeouts(pkg: Any) -> None:
    for revision in REVISIONS:
        with case(revision):
            methods = pkg.load(revision).methods
            assert methods.ELICIT.known_as == "elicitation/create"
            assert pkg.Options().patience(methods.ELICIT, {}).timeout == 300


def make_toolkit(pkg: Any, revision: str, **more: Any) -> Any:
    """Return a toolkit server with a tool, a prompt and a resource."""

    async def add(self: Any, a: int, b: int) -> int:
        return a + b

    async def greet(self: Any, name: str) -> str:
        return f"Greet {name}."

    async def motto(self: Any) -> str:
        return "Onward"

    members = {"add": pkg.tool(add), "greet": pkg.prompt(greet)}
    members["motto"] = pkg.resource("res://motto")(motto)
    return type("Offering", (pkg.Toolkit, pkg.load(revision).Server), {**members, **more})()


async def test_mounted_servers_answer_under_other_names_of_methods(pkg: Any) -> None:
    for ours, theirs in product(REVISIONS, repeat=2):
        with case(f"a server of {theirs} in one of {ours}"):
            server = type("Above", (pkg.Toolkit, pkg.load(ours).Server), {})()
            server.mount("x", make_toolkit(pkg, theirs))
            for revision in (None, *REVISIONS):
                assert [tool["name"] for tool in server.tool_schemas(revision)] == ["x_add"]
            async with connect(pkg, server, pkg.load(ours).Client(), ours) as connected:
                assert [prompt.name async for prompt in connected.iter_prompts()] == ["x_greet"]
                filled = await connected.get_prompt("x_greet", {"name": "Ada"})
                assert filled.messages[0].content.text == "Greet Ada."
                read = await connected.read_resource("res://x/motto")
                assert read.contents[0].text == "Onward"
                assert await connected.call_tool("x_add", {"a": 1, "b": 2}, as_=int) == 3


def make_listener(pkg: Any, revision: str) -> tuple[Any, asyncio.Event]:
    """Return a client, and an event that is set when it hears of changed prompts."""
    heard, client = asyncio.Event(), pkg.load(revision).Client

    async def note(self: Any, params: Any) -> None:
        heard.set()

    name = client.NOTIFICATIONS[name_in(revision, "notifications/prompts/list_changed")][1]
    return type("Listening", (client,), {name: note})(), heard


def later() -> str:
    return "later"


async def test_changes_of_lists_arrive_whatever_their_notification_is_called(pkg: Any) -> None:
    for theirs, spoken in product(REVISIONS, repeat=2):
        with case(f"a server of {theirs} in {spoken}"):
            server, (client, heard) = make_toolkit(pkg, theirs), make_listener(pkg, OLD)
            async with connect(pkg, server, client, spoken) as connected:
                # By its answer, the server has begun to send.
                await connected.list_prompts()
                server.add_prompt(later)
                await asyncio.wait_for(heard.wait(), 5)


async def test_changes_of_lists_pass_through_bridges_between_other_names(pkg: Any) -> None:
    for ours, theirs in permutations(REVISIONS, 2):
        with case(f"a bridge between a client of {ours} and a server of {theirs}"):
            server, (client, heard) = make_toolkit(pkg, theirs), make_listener(pkg, ours)
            async with connect_by_bridge(pkg, client, server) as connected:
                spec = pkg.load(ours).Client.TABLE.requests.get("subscriptions/listen")
                listening = None
                if spec is not None:
                    params = spec.params(notifications={"promptsListChanged": True})
                    listening = asyncio.create_task(connected.request(spec, params))
                    await asyncio.sleep(0.05)
                server.add_prompt(later)
                await asyncio.wait_for(heard.wait(), 5)
                if listening is not None:
                    listening.cancel()


async def test_result_caches_know_first_names_and_own_names(pkg: Any) -> None:
    read, filled = "resources/read", name_in(RENAMED, "prompts/get")
    for methods, calls in (((read,), 1), ((filled,), 2)):
        met = list[str]()
        layers = (pkg.ResultCache(60, methods=methods), note(met))
        server = make_toolkit(pkg, RENAMED, middleware=layers)
        with case(str(methods)):
            async with connect(pkg, server, pkg.load(NEWEST).Client(), NEWEST) as connected:
                for _ in range(2):
                    await connected.read_resource("res://motto")
                    await connected.get_prompt("greet", {"name": "Ada"})
            assert met.count(name_in(RENAMED, read)) == calls
            assert met.count(filled) == 3 - calls
