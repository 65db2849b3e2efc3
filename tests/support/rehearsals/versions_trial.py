"""Two major versions of the extension `notes` side by side, as a proposal tells them apart.

It runs on a copy of the checkout, with the revision as its argument. The rule in the generated
package says what is sent: the members of declarations, and the error. Requests by hand are those of
clients with other versions.
"""

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from mcp_protogen.base.names import module_name
from mcp_revisions import Loss, McpError, MissingCapability, Options, connect
from support.sessions.talking import META, VERSION, Accepting, Hand, request, serve_by_hand

Json = dict[str, Any]
Versions = tuple[ModuleType, ...]

NEXT: Final = sys.argv[1]
REVISION: Final = f"mcp_revisions.{module_name(NEXT)}"
mcp: Any = import_module(REVISION)
first: Any = import_module(f"{REVISION}.ext.notes")
second: Any = import_module(f"{REVISION}.ext.notes_v2")
IDS: Final = {module: module.EXTENSION.identifier for module in (first, second)}
RULE: Final = second.EXTENSION.rule
TRANSLATED: Final = find_spec(f"{second.__name__}.translation") is not None


async def add_first(self: Any, session: Any, params: Any) -> Any:
    return first.models.AddNoteResult(id=params.text)


async def add_second(self: Any, session: Any, params: Any) -> Any:
    return second.models.AddNoteResult(note_id=" ".join([params.text, *params.tags]))


async def count(self: Any, session: Any, params: Any) -> Any:
    return second.models.CountNotesResult(count=2)


def suffix() -> str:
    """Return the suffix of the stubs of the second version."""
    (name,) = (name for name in dir(second.NotesV2Server) if name.startswith("on_add_note"))
    return name.removeprefix("on_add_note")


def make_server(*versions: ModuleType) -> Any:
    """Return a server with some of the versions."""
    handlers: Json = {}
    if first in versions:
        handlers["on_add_note"] = add_first
    if second in versions:
        handlers |= {f"on_add_note{suffix()}": add_second, f"on_count_notes{suffix()}": count}
    bases = [first.NotesServer] * (first in versions) + [second.NotesV2Server] * (
        second in versions
    )
    return type("Server", (*bases, mcp.Server), handlers)()


def make_client(*versions: ModuleType) -> Any:
    """Return a client with some of the versions."""
    bases = [first.NotesClient] * (first in versions) + [second.NotesV2Client] * (
        second in versions
    )
    return type("Client", (*bases, mcp.Client), {})()


async def use(client: Any, version: ModuleType) -> str:
    """Add a note in a version; return what the server makes of it."""
    if version is first:
        return str((await client.add_note("one")).id)
    add = getattr(client, f"add_note{suffix()}")
    return str((await add(text="one", tags=["two"])).note_id)


async def agree_on_versions() -> None:
    """Connect sides with the same, one or no version in common."""
    both: Versions = (first, second)
    old: Versions = (first,)
    new: Versions = (second,)
    expected: dict[tuple[Versions, Versions], dict[ModuleType, str | None]] = {
        (both, new): {second: "one two"},
        (both, old): {first: "one"},
        (both, both): {first: None, second: "one two"},
        (old, both): {first: "one", second: None},
        # Rules may translate between sides without a version in common.
        (old, new): {second: "one" if TRANSLATED else None},
        (new, old): {first: "one" if TRANSLATED else None},
    }
    for (served, wanted), answers in expected.items():
        async with connect(make_server(*served), make_client(*wanted)) as client:
            for version, answer in answers.items():
                try:
                    found: str | None = await use(client, version)
                except MissingCapability:
                    found = None
                assert found == answer, (served, wanted, version, found)


def declaration(version: str | None, of: ModuleType = second) -> Json:
    """Return a client's declaration, as a rule of the revision has it."""
    settings = {} if version is None else {RULE.members["client"]: version}
    return {"extensions": {IDS[of]: settings}}


def ask(method: str, capabilities: Json, **params: Any) -> Json:
    """Return a request of a client with these capabilities."""
    key = next(key for key in META if key.endswith("clientCapabilities"))
    return request(method, 1, _meta={**META, VERSION: NEXT, key: capabilities}, **params)


async def answer_other_versions() -> None:
    """Answer clients with another minor version, with none, and with an unknown one."""
    own = second.EXTENSION.version
    minor = {"same": own}.get(RULE.agree, own.replace("2.1", "2.0"))
    counts = RULE.agree == "same"
    note: Json = {"text": "one", "tags": ["two"]}
    async with serve_by_hand(make_server(first, second)) as hand:

        async def result(method: str, capabilities: Json, **params: Any) -> Any:
            await hand.send(ask(method, capabilities, **params))
            said = await hand.take()
            return said.get("result") or said["error"]

        assert (await result("notes/add", declaration(own), **note))["noteId"] == "one two"
        assert (await result("notes/count", declaration(own)))["count"] == 2
        assert (await result("notes/add", declaration(minor), **note))["noteId"] == "one two"
        assert ("count" in await result("notes/count", declaration(minor))) is counts
        # Absence means the first version.
        assert (await result("notes/add", declaration(None, first), **note))["id"] == "one"
        assert (await result("notes/add@2", declaration(own), **note))["code"] == -32601
        await hand.send(ask("notes/add", declaration("9.0.0"), **note))
        check_unknown(await hand.take())
        # An extension that a request does not use changes nothing about it.
        assert "resultType" in await result("server/discover", declaration("9.0.0"))


def check_unknown(said: Json, note_id: str = "one two") -> None:
    """Check the answer to a request in a version that the server does not have."""
    answer = said.get("result") or said["error"]
    if RULE.agree == "minor":
        # Its identifier has the major number, and another one does not count.
        assert answer["noteId"] == note_id, answer
    elif RULE.error is None:
        assert answer["code"] == -32601, answer
    else:
        entry = answer["data"][RULE.error.by_identifier][IDS[second]]
        supported = ["1.0.0", second.EXTENSION.version]
        assert answer["code"] == RULE.error.code, answer
        assert entry == {RULE.error.requested: "9.0.0", RULE.error.supported: supported}
        assert mcp.methods.ERRORS[RULE.error.code].status == 400


async def translate_versions() -> None:
    """Translate messages of a version that one side lacks, and report what is lost."""
    losses: list[Loss] = []
    options = Options(on_loss=losses.append)
    async with connect(make_server(first), make_client(second), options=options) as client:
        assert await use(client, second) == "one"
        try:
            await getattr(client, f"count_notes{suffix()}")()
        except MissingCapability:
            pass
        else:
            raise AssertionError("the first version counts nothing")
    (loss,) = losses
    assert loss.pointer == "/params/tags" and loss.why == "Notes of the first version have no tags."
    assert (loss.what, loss.own, loss.wire) == ("dropped", "notes-v2", "notes")
    assert loss.method == f"notes/add{second.EXTENSION.suffix}"
    losses.clear()
    async with serve_by_hand(make_server(second), on_loss=losses.append) as hand:

        async def answer(method: str, **params: Any) -> Json:
            await hand.send(ask(method, declaration(None, first), **params))
            return dict(await hand.take())

        assert (await answer("notes/add", text="one", tags=["two"]))["result"]["id"] == "one"
        assert [(loss.pointer, loss.own) for loss in losses] == [("/params/tags", "notes-v2")]
        wrong = (await answer("notes/add", text=1))["error"]
        assert wrong["code"] == -32602 and "/params/text" in str(wrong["data"]), wrong
        assert (await answer("notes/count"))["error"]["code"] == -32601
        await hand.send(ask("notes/add", declaration("9.0.0"), text="one", tags=[]))
        check_unknown(await hand.take(), "one")


def leave_out_later_revisions() -> None:
    """Leave an extension off whose declaration needs a later revision."""
    for role, steps in RULE.floors.items():
        for least, fits in ((NEXT, True), ("2999-01-01", False)):
            needs: Any = least
            for step in reversed(steps):
                needs = {step: needs}
            settings = {RULE.members[role]: second.EXTENSION.version, **needs}
            assert second.EXTENSION.fits(role, settings) is fits, settings


async def repeat_once() -> None:
    """Send a request once more after the error for its version, and only once."""
    if RULE.error is None:
        return
    for supported, sent in ((["1.0.0"], ["2.1.0", "1.0.0"]), (["9.0.0"], ["2.1.0", None])):
        versions: list[Any] = []
        opener = Accepting(play_server(versions, supported))
        async with connect(opener, make_client(first, second)) as client:
            try:
                tools = [tool.name async for tool in client.iter_tools()]
                assert tools == [] and supported == ["1.0.0"]
            except McpError as error:
                assert error.code == RULE.error.code and supported == ["9.0.0"]
        assert versions == sent, versions


def play_server(versions: list[Any], supported: list[str]) -> Callable[[Hand], Any]:
    """Return a server that says of each version but the supported ones that it lacks it."""

    async def play(hand: Hand) -> None:
        while (call := await hand.take()) is not None:
            settings = {RULE.members["server"]: ["1.0.0", "2.1.0"]}
            about: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
            result: Json = {**about, "tools": []}
            if call["method"] == "server/discover":
                capabilities = {"tools": {}, "extensions": {IDS[second]: settings}}
                result = {**about, "supportedVersions": [NEXT], "capabilities": capabilities}
                await hand.send({"jsonrpc": "2.0", "id": call["id"], "result": result})
                continue
            meta = call["params"]["_meta"]
            key = next(key for key in meta if key.endswith("clientCapabilities"))
            asked = meta[key]["extensions"].get(IDS[second], {}).get(RULE.members["client"])
            versions.append(asked)
            if asked in supported:
                await hand.send({"jsonrpc": "2.0", "id": call["id"], "result": result})
                continue
            entry = {RULE.error.requested: asked, RULE.error.supported: supported}
            data = {RULE.error.by_identifier: {IDS[second]: entry}}
            error = {"code": RULE.error.code, "message": "no", "data": data}
            await hand.send({"jsonrpc": "2.0", "id": call["id"], "error": error})

    return play


async def talk() -> None:
    """Do all of it."""
    await agree_on_versions()
    leave_out_later_revisions()
    await answer_other_versions()
    if TRANSLATED:
        await translate_versions()
    await repeat_once()


asyncio.run(talk())
