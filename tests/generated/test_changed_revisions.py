"""The client and server of a changed revision understand each other, or nothing is written."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.parts import DEFAULT
from support import missing, tables
from support.generating import require_importable
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.running import Run
from support.unit import schemas

Json = dict[str, Any]
Change = Callable[[Json], object]
REVISION = "2099-01-01"
FILE = "mine.json"
META, INFO = "RequestMetaObject", "io.modelcontextprotocol/clientInfo"
TEXT: Json = {"type": "string"}


def bound(definitions: Json, name: str, **bounds: int) -> None:
    definitions[name]["properties"]["ttlMs"] |= bounds


def require(definitions: Json, name: str, member: str, schema: Json | None = None) -> None:
    definition = definitions[name]
    definition["properties"].setdefault(member, schema)
    definition["required"] = [*definition["required"], member]


def return_either(definitions: Json, response: str, **members: Json) -> None:
    """Add results beside the usual one of a method, each with a member."""
    properties = definitions[response]["properties"]
    alternatives = [properties["result"]]
    for member, schema in members.items():
        name = f"{member.capitalize()}Result"
        definitions[name] = schemas.record(
            ("resultType", member), resultType=TEXT, **{member: schema}
        )
        alternatives.append(schemas.ref(name))
    properties["result"] = {"anyOf": alternatives}


def rename(definitions: Json, old: str, new: str) -> None:
    text = json.dumps(definitions).replace(f'"{old}"', f'"{new}"')
    definitions.clear()
    definitions.update(json.loads(text.replace(f"$defs/{old}", f"$defs/{new}")))


def content_of(change: Change, revision: str = STATELESS) -> bytes:
    document = json.loads(read_snapshot(revision))
    change(document["$defs"])
    return json.dumps(document).encode()


@cache
def make(content: bytes, name: str = REVISION, *others: str) -> Package:
    return generate(GenerationOptions((name, *others), {name: GivenFile(FILE, content)}))


def failed_steps(
    change: Change, parts: Sequence[str] = DEFAULT, revision: str = STATELESS
) -> list[Problem]:
    file = GivenFile(FILE, content_of(change, revision))
    package = generate(GenerationOptions((REVISION,), {REVISION: file}, parts=tuple(parts)))
    try:
        return list(require_importable(package, [REVISION]))
    except ProblemError as error:
        return list(error.problems)


def bound_a_name(definitions: Json) -> None:
    """Bound one member among those of a name; a page may be another result."""
    bound(definitions, "CacheableResult", maximum=86_400_000)
    return_either(definitions, "ListToolsResultResponse", incomplete={"type": "integer"})


def bound_others(definitions: Json) -> None:
    """Bound the other members, and require the client's name; a page may be two other results."""
    bound(definitions, "DiscoverResult", maximum=0)
    require(definitions, META, INFO)
    integer = {"type": "integer"}
    return_either(definitions, "ListToolsResultResponse", incomplete=integer, moved=TEXT)


BROKEN: dict[tuple[str, str], Change] = {
    ("server/discover", "/$defs/DiscoverResult/properties/ttlMs"): lambda d: bound(
        d, "DiscoverResult", minimum=1
    ),
    ("server/discover", "/$defs/RequestParams/properties/_meta"): lambda d: require(
        d, META, "io.example/key", TEXT | {"minLength": 1}
    ),
    ("server/discover", "/$defs/ClientRequest"): lambda d: rename(
        d, "server/discover", "server/describe"
    ),
}
OTHER_PARTS = (("http-client",), ("http-server",), ("http-server", "toolkit"))
IN_PART: dict[tuple[str, str], Change] = {
    ("tools/list of the toolkit", "/$defs/ListToolsResult/properties/ttlMs"): lambda d: bound(
        d, "ListToolsResult", minimum=1
    ),
    ("tools/call of the toolkit", "/$defs/CallToolResult/properties/outputs"): lambda d: require(
        d, "CallToolResult", "outputs", {"type": "array", "items": TEXT}
    ),
    ("tools/list of the toolkit", "/$defs/ClientRequest"): lambda d: rename(
        d, "tools/list", "tools/show"
    ),
}


async def greet(name: str) -> str:
    return f"Hello, {name}"


async def use(package: Any, name: str = REVISION) -> None:
    """Make the usual calls, without more arguments than before."""
    module = package.load(name)
    app = module.App("greeter")
    app.tool(greet)
    async with package.connect_in_memory(module.Client(), app) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["greet"]
        assert [tool.name async for tool in client.iter_tools()] == ["greet"]
        assert (await client.call_tool("greet", {"name": "Ada"})).text == "Hello, Ada"
        with pytest.raises(package.McpError):
            await client.call_tool("unknown")


@pytest.mark.parametrize("change", [bound_a_name, bound_others])
def test_changed_revision_is_served(change: Change, tmp_path: Path) -> None:
    package = make(content_of(change))
    assert require_importable(package, [REVISION]) == ()
    with schemas.import_package(package, tmp_path, "changed") as imported:
        asyncio.run(use(imported))


def test_another_result_in_place_of_a_page_is_an_error_that_names_it(tmp_path: Path) -> None:
    package = make(content_of(bound_a_name))
    with schemas.import_package(package, tmp_path, "changed") as imported:
        module: Any = imported.load(REVISION)

        async def list_tools(server: Any, session: Any, params: Any) -> Any:
            return module.models.IncompleteResult(result_type="complete", incomplete=1)

        slow = type("Slow", (module.Server,), {"on_list_tools": list_tools})

        async def ask() -> None:
            async with imported.connect_in_memory(module.Client(), slow()) as client:
                once = await client.request_once(module.methods.LIST_TOOLS, None)
                assert once.incomplete == 1
                for call in (client.list_tools(), anext(client.iter_tools())):
                    with pytest.raises(imported.RemoteError, match="returned IncompleteResult"):
                        await call

        asyncio.run(ask())


def test_client_that_cannot_connect_to_its_server_is_refused() -> None:
    # Each change is tried with the default parts, and a sample of changes with others.
    others = tables.some([*product(BROKEN.items(), OTHER_PARTS)], 3, "changes and parts")
    for ((method, pointer), change), parts in (*product(BROKEN.items(), [DEFAULT]), *others):
        with tables.case((method, pointer, parts)):
            (step,) = failed_steps(change, parts)
            assert (step.code, step.level, step.place) == ("failed-trial", Level.ERROR, FILE)
            assert step.pointer == pointer
            assert step.message.startswith(f"no connection is opened by {method}: ")


def test_models_alone_need_no_connection() -> None:
    assert failed_steps(next(iter(BROKEN.values())), ()) == []


def test_failing_part_is_a_warning() -> None:
    for (part, pointer), change in IN_PART.items():
        with tables.case((part, pointer)):
            (step,) = failed_steps(change)
            assert (step.code, step.level, step.place) == ("failed-trial", Level.WARNING, FILE)
            assert step.pointer == pointer
            assert step.message.startswith(f"{part} fails: ")


def test_method_that_a_server_answers_under_another_name_is_a_warning() -> None:
    names = {"subscriptions/listen": "subscriptions/open", "prompts/get": "prompts/fill"}
    rules = json.dumps({"older": STATELESS, "became": names, "rules": [], "errors": []})

    def change(definitions: Json) -> None:
        for old, new in names.items():
            rename(definitions, old, new)

    options = GenerationOptions(
        (REVISION,),
        {REVISION: GivenFile(FILE, content_of(change))},
        rules={REVISION: GivenFile("rules.json", rules.encode())},
    )
    (step,) = require_importable(generate(options), [REVISION])
    assert (step.code, step.level, step.place) == ("failed-trial", Level.WARNING, FILE)
    assert step.pointer == "/$defs/ClientRequest"
    assert step.message.startswith("subscriptions/open of the server fails: ")


def test_task_with_another_identifier_is_a_warning() -> None:
    def change(definitions: Json) -> None:
        for name in ("Task", "CancelTaskRequest", "GetTaskRequest", "GetTaskPayloadRequest"):
            owner = definitions[name]["properties"]
            owner = owner.get("params", definitions[name])
            owner["properties"]["id"] = owner["properties"].pop("taskId")
            owner["required"] = ["id", *(name for name in owner["required"] if name != "taskId")]

    for parts in (DEFAULT, ("toolkit",), ("toolkit", "tasks")):
        assert failed_steps(change, parts, OLD) == []
    (step,) = failed_steps(change, (*DEFAULT, "tasks"), OLD)
    assert (step.code, step.level, step.place) == ("failed-trial", Level.WARNING, FILE)
    assert step.message.startswith("tools/call of the tasks fails: ")
    assert "/result/task/id: Field required" in step.message


def test_package_without_the_failing_part_has_no_warning() -> None:
    change = next(iter(IN_PART.values()))
    for part in ("http-server", "http-client"):
        with tables.case(part):
            assert failed_steps(change, (part,)) == []


def test_error_writes_nothing_and_warning_is_repeated(mcp_gen: Run, tmp_path: Path) -> None:
    def run(change: Change) -> tuple[int, str]:
        (tmp_path / FILE).write_bytes(content_of(change))
        schema = f"{REVISION}={FILE}"
        ran = mcp_gen("--revision", REVISION, "--schema", schema, "--out", "pkg")
        return ran.code, ran.err

    code, said = run(next(iter(BROKEN.values())))
    assert (code, "error[failed-trial]: mine.json#/$defs/" in said) == (2, True)
    assert not (tmp_path / "pkg").exists()
    for _ in ("generated", "from the cache"):
        code, said = run(next(iter(IN_PART.values())))
        assert (code, "warning[failed-trial]: mine.json#/$defs/" in said) == (0, True)
    assert (tmp_path / "pkg" / module_name(REVISION) / "client.py").is_file()


@pytest.mark.parametrize("name", ["ttl-bounded-in-CacheableResult", "2025-11-25-without-tasks"])
def test_made_revision_is_served(name: str, tmp_path: Path) -> None:
    folder = missing.reference("cases/next-revision", "that these revisions are served")
    package = make((folder / f"{name}.schema.json").read_bytes())
    assert require_importable(package, [REVISION]) == ()
    with schemas.import_package(package, tmp_path, "made") as imported:
        asyncio.run(use(imported))


def remove_tasks(definitions: Json) -> None:
    for name in [name for name in definitions if "Task" in name]:
        del definitions[name]
    for definition in definitions.values():
        definition.get("properties", {}).pop("task", None)
        if "anyOf" in definition:
            arms = definition["anyOf"]
            definition["anyOf"] = [arm for arm in arms if "Task" not in arm.get("$ref", "")]
    for role in ("ClientCapabilities", "ServerCapabilities"):
        del definitions[role]["properties"]["tasks"]


def test_edited_schema_keeps_its_name_and_its_neighbours(tmp_path: Path) -> None:
    # Our patches, facts and translation rules are about tasks too.
    package = make(content_of(remove_tasks, OLD), OLD, HANDSHAKE[-2], STATELESS)
    assert {problem.level for problem in package.warnings} == {Level.WARNING}
    assert require_importable(package, [OLD]) == ()
    with schemas.import_package(package, tmp_path, "edited") as imported:
        requests = imported.load(OLD).methods.REQUESTS
        assert not [name for name in requests if name.startswith("tasks/")]
        asyncio.run(use(imported, OLD))
