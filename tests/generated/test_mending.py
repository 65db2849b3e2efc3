"""Messages that break the schema, as lenient clients read them: compared with the schema itself."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.errors import InvalidParams
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.jsonrpc import Call, message_of
from mcp_protogen.runtime.messages.lenient_params import reinterpret
from mcp_protogen.runtime.messages.lenient_results import mend
from mcp_protogen.runtime.messages.method_table import MethodTable
from support import tables
from support.generated import oracle
from support.generated.golden_package import REVISIONS, load
from support.generated.instances import Instances
from support.generated.mutants import DROP, Edit, Path, edits
from support.generated.translations import without
from support.json_types import Json, JsonObject
from support.tables import case

WRONG: list[Json] = [None, 0, [], {}]


def results(revision: str) -> list[Any]:
    """The plain results that clients read, without those that are empty."""
    specs = load(revision).methods.TABLE.requests.values()
    known = oracle.subjects(revision)
    found = {spec.results[0] for spec in specs if "client" in spec.senders}
    return [cls for name, cls in sorted((cls.__name__, cls) for cls in found) if name in known]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The members and entries of a value, at any depth."""
    inner: Any = ()
    if is_object(value):
        inner = value.items()
    elif is_array(value):
        inner = enumerate(value)
    for step, found in inner:
        yield (*path, step)
        yield from places(found, (*path, step))


Attempt = Callable[[Any, Callable[[Any], bool], Any, Random], None]


def try_results(revision: str, attempt: Attempt) -> None:
    """Try something with valid results of each kind."""
    instances = Instances(oracle.document(revision), complete=True)
    for cls in results(revision):
        pointer = oracle.subjects(revision)[cls.__name__].pointer
        check, accepts, random = (
            validator_of(cls),
            oracle.accepts(revision, pointer),
            Random(pointer),
        )
        for value in instances.some(pointer, tables.count(15, 100)):
            with case((cls.__name__, value)):
                attempt(check, accepts, value, random)


def choose_files(found: list[Path], random: Random) -> list[Path]:
    return random.sample(found, min(4, len(found)))


@pytest.mark.parametrize("revision", REVISIONS)
def test_null_of_optional_member_counts_as_absent_at_any_depth(revision: str) -> None:
    tried = 0

    def attempt(check: Any, accepts: Any, value: Any, random: Random) -> None:
        nonlocal tried
        members = [path for path in places(value) if isinstance(path[-1], str)]
        for path in choose_files(members, random):
            changed, bare = Edit(path, None).of(value), Edit(path, DROP).of(value)
            if accepts(bare) and not accepts(changed):
                tried += 1
                mended, losses = mend(changed, check, "")
                assert mended == bare
                assert [loss.harmless for loss in losses] == [True]

    try_results(revision, attempt)
    assert tried > 100


@pytest.mark.parametrize("revision", REVISIONS)
def test_broken_entry_of_list_is_left_out(revision: str) -> None:
    tried = 0

    def attempt(check: Any, accepts: Any, value: Any, random: Random) -> None:
        nonlocal tried
        entries = [path for path in places(value) if isinstance(path[-1], int)]
        for path in choose_files(entries, random):
            changed = Edit(path, random.choice(WRONG)).of(value)
            if not accepts(changed):
                tried += 1
                mended, losses = mend(changed, check, "")
                left = without(changed, [loss.pointer for loss in losses])
                assert mended == left and accepts(left)
                assert len(losses) == 1

    try_results(revision, attempt)
    assert tried > 20


@pytest.mark.parametrize("revision", REVISIONS)
def test_mended_result_fits_schema_and_lacks_only_what_was_reported(revision: str) -> None:
    mended_ones = 0

    def attempt(check: Any, accepts: Any, value: Any, random: Random) -> None:
        nonlocal mended_ones
        assert mend(value, check, "") == (value, ())
        broken = value
        for _ in range(3):
            broken = random.choice(list(edits(broken, depth=4))).of(broken)
        before = deepcopy(broken)
        mended, losses = mend(broken, check, "")
        assert broken == before
        assert accepts(mended) is (accepts(broken) or bool(losses))
        dropped = [loss.pointer for loss in losses if loss.what == "dropped"]
        # Of too many entries, only the first is named.
        shortened = any("allows" in loss.why for loss in losses)
        if dropped and len(dropped) == len(losses) and not shortened:
            mended_ones += 1
            assert mended == without(broken, dropped)

    try_results(revision, attempt)
    assert mended_ones > 10


def tool(name: Json, **members: Json) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def read_mended(revision: str, method: str, result: Json) -> tuple[Any, tuple[Loss, ...]]:
    table = load(revision).methods.TABLE
    return mend(result, table.result_reader(table.requests[method]), "/result")


@pytest.mark.parametrize("revision", REVISIONS)
def test_left_out_entry_is_named_with_its_place_and_reason(revision: str) -> None:
    broken = [tool("a"), tool("b", inputSchema=5), tool(None), "c", tool("d")]
    value, losses = read_mended(revision, "tools/list", {"tools": broken})
    assert value["tools"] == [tool("a"), tool("d")]
    assert [(loss.pointer, loss.why) for loss in losses] == [
        (
            "/result/tools/1",
            "'b' is left out: it breaks the schema at '/inputSchema': Input should be an object",
        ),
        (
            "/result/tools/2",
            "an entry is left out: it breaks the schema at '/name': Input should be a valid string",
        ),
        (
            "/result/tools/3",
            "an entry is left out: it breaks the schema at '/': Input should be an object",
        ),
    ]


def test_innermost_broken_entry_is_left_out() -> None:
    icons = [{"src": 5}, {"src": "https://x/y.png", "sizes": [4, "16x16"]}]
    value, losses = read_mended("2025-11-25", "tools/list", {"tools": [tool("a", icons=icons)]})
    assert value["tools"][0]["icons"] == [{"src": "https://x/y.png", "sizes": ["16x16"]}]
    pointers = [loss.pointer for loss in losses]
    assert pointers == ["/result/tools/0/icons/0", "/result/tools/0/icons/1/sizes/0"]


def test_list_that_is_too_long_is_shortened() -> None:
    values = [str(number) for number in range(130)]
    value, (loss,) = read_mended(
        "2026-07-28", "completion/complete", {"completion": {"values": values}}
    )
    assert value["completion"]["values"] == values[:100]
    assert loss.pointer == "/result/completion/values/100"


@pytest.mark.parametrize("revision", REVISIONS)
def test_name_and_version_of_server_are_replaced(revision: str) -> None:
    table = load(revision).methods.TABLE
    opened_by, meta = table.era.opened_by, "io.modelcontextprotocol/serverInfo"
    said: JsonObject = {"protocolVersion": revision, "supportedVersions": [revision]}
    unknown = {"name": "unknown", "version": "unknown"}
    infos: list[tuple[Json, JsonObject]] = [
        ({"name": "x"}, {"name": "x", "version": "unknown"}),
        ({"name": 5, "version": "1", "more": 1}, {**unknown, "version": "1", "more": 1}),
        ({"version": None}, unknown),
        ("x", unknown),
        ([], unknown),
    ]
    for info, shown in infos:
        about: JsonObject = (
            {"serverInfo": info} if table.era.has_handshake else {"_meta": {meta: info}}
        )
        with case(info):
            result: JsonObject = {**said, "capabilities": {}, **about}
            value, losses = read_mended(revision, opened_by, result)
            found = value.get("serverInfo") or value["_meta"][meta]
            assert found == shown
            assert [loss.what for loss in losses] == ["replaced"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_result_that_cannot_be_mended_keeps_its_error(revision: str) -> None:
    broken: list[Json] = [None, 5, [], [tool("a")], {}, {"tools": None}, {"tools": {}}]
    for result in broken:
        with case(result):
            assert read_mended(revision, "tools/list", result) == (result, ())


def test_many_broken_entries_are_mended_in_linear_time() -> None:
    checks = 0
    read = validator_of(load("2025-11-25").models.ListToolsResult)

    def check(value: Any) -> Any:
        nonlocal checks
        checks += 1
        return read(value)

    broken = [tool("a", title=None), tool("b", title=5), tool("c")] * 100
    value, losses = mend({"tools": broken}, check, "")
    assert (len(value["tools"]), len(losses)) == (200, 200)
    assert checks < 1000


def test_mending_gives_up_where_it_would_take_too_long() -> None:
    read = validator_of(load("2025-11-25").models.CallToolResult)
    result = {"content": [{"type": "text"}] * 3000, "structuredContent": {"x": [1] * 3000}}
    assert mend(result, read, "") == (result, ())


def test_nulls_in_several_entries_of_a_request_count_as_absent() -> None:
    table: MethodTable = load("2025-11-25").methods.TABLE
    text: JsonObject = {"type": "text", "text": "x"}
    message = {"role": "user", "content": text}
    careless = {"role": "user", "content": {**text, "annotations": None, "_meta": None}}

    def read(*messages: Json) -> Any:
        params: JsonObject = {"maxTokens": 1, "messages": [*messages]}
        whole = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
        call = message_of(whole)
        assert isinstance(call, Call)
        refused = table.interpret(call, "server")
        assert isinstance(refused, InvalidParams)
        return reinterpret(table, call, refused, "server")

    found: Request[Any] = read(deepcopy(careless), message, deepcopy(careless))
    assert isinstance(found, Request)
    assert found.params.to_wire() == {"maxTokens": 1, "messages": [message] * 3}
    assert isinstance(read(deepcopy(careless), 5), InvalidParams)
