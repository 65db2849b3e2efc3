"""Errors between a proposed revision and older ones: codes by condition, typed data, delays."""

import asyncio
import importlib
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest
from support.generated.connecting import WAYS, connect_directly
from support.generated.next_revision import NEXT
from support.generated.schema_folders import package_of
from support.generating import write_files
from support.revisions import NEWEST, OLD
from support.tables import case

Json = dict[str, Any]
CodeAndData = tuple[int, Any]

NAME: Final = "package_with_moved_errors"
STALE: Final = {"kind": "cursor", "reason": "expired", "restart": True}

# Each error of a server, and what a client of the other revision gets.
DOWN: Final[dict[str, tuple[CodeAndData, CodeAndData]]] = {
    "a delay in another unit": (
        (-32023, {"retryAfterMs": 1500, "limit": 2, "other": 1}),
        (-32000, {"retryAfter": 1.5, "other": 1}),
    ),
    "members that older revisions lack": ((-32026, STALE), (-32602, None)),
    "data that break their own type": ((-32026, {"kind": 1}), (-32602, {"kind": 1})),
    "no data": ((-32025, None), (-32602, None)),
    "a code of both": ((-32603, {"errorId": "e"}), (-32603, {"errorId": "e"})),
}
UP: Final[dict[str, tuple[CodeAndData, CodeAndData]]] = {
    "a condition on params": ((-32602, None), (-32026, {"kind": "cursor", "reason": "rejected"})),
    "data that would break the type": (
        (-32602, {"kind": 2, "other": 1}),
        (-32026, {"kind": "cursor", "reason": "rejected", "other": 1}),
    ),
    "a condition on data": ((-32000, {"retryAfter": 0.3}), (-32023, {"retryAfterMs": 300})),
    "a text as data": (
        (-32602, "text"),
        (-32026, {"kind": "cursor", "reason": "rejected"}),
    ),
    "data that do not meet it": ((-32000, {"after": 1}), (-32000, {"after": 1})),
    "data that are no object": ((-32000, None), (-32000, None)),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("moved")
    made = package_of("error-registry", tmp_path_factory.mktemp("input"), OLD, NEWEST)
    write_files(made.files, folder / NAME)
    sys.path.insert(0, str(folder))
    yield importlib.import_module(NAME)
    sys.path.remove(str(folder))


def make_server(package: Any, revision: str, failure: CodeAndData) -> Any:
    """Return a server whose lists and calls fail."""
    module = package.load(revision)

    async def fail(self: Any, session: Any, params: Any) -> Any:
        raise package.McpError(failure[0], "No", failure[1])

    made: Any = type("Failing", (module.Server,), {"on_list_tools": fail, "on_call_tool": fail})()
    return made


def ask(connect: Callable[..., Any], package: Any, own: str, wire: str, sent: CodeAndData) -> Any:
    """Return the errors of a list with a cursor and of one without, as the client has them."""

    async def talk() -> list[CodeAndData]:
        client, found = package.load(wire).Client(), list[CodeAndData]()
        async with connect(package, client, make_server(package, own, sent)) as connected:
            for cursor in ({"cursor": "c"}, {}):
                with pytest.raises(package.McpError) as caught:
                    await connected.list_tools(**cursor)
                found.append((caught.value.code, caught.value.data))
        return found

    return asyncio.run(talk())


@pytest.mark.parametrize("connect", WAYS)
@pytest.mark.parametrize("older", [OLD, NEWEST])
def test_error_reaches_older_clients_in_their_form(
    package: Any, older: str, connect: Callable[..., Any]
) -> None:
    for name, (sent, got) in DOWN.items():
        with case(name):
            assert ask(connect, package, NEXT, older, sent) == [got, got]


@pytest.mark.parametrize("connect", WAYS)
@pytest.mark.parametrize("older", [OLD, NEWEST])
def test_error_of_an_older_server_changes_only_where_its_condition_holds(
    package: Any, older: str, connect: Callable[..., Any]
) -> None:
    for name, (sent, got) in UP.items():
        without = sent if sent[0] == -32602 else got
        with case(name):
            assert ask(connect, package, older, NEXT, sent) == [got, without]


def test_lost_members_of_the_data_are_reported(
    package: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ask(connect_directly, package, NEXT, NEWEST, (-32026, STALE))
    for member in STALE:
        assert f"'/error/data/{member}' was dropped between {NEXT} and {NEWEST}" in caplog.text
