"""Tools that servers offer only to clients that declare abilities are listed and called."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_revisions import in_memory
from mcp_revisions import v2025_11_25 as mcp
from support.running import Run
from support.tables import case

SHY = "shy.py"
BOTH_ERAS = ("2025-11-25", "2026-07-28")


def declaring(*path: str) -> Any:
    """Return whether a client declares a capability, as a function for `enabled`."""

    def is_declared(session: mcp.Session) -> bool:
        found: Any = session.client_capabilities.to_wire()
        for name in path:
            found = found.get(name) if is_object(found) else None
        return found is not None

    return is_declared


def new_server() -> mcp.App:
    """Return a server with a tool for each ability, and none for other clients."""
    app = mcp.App("shy")

    @app.tool(enabled=declaring("elicitation", "form"))
    async def choose(session: mcp.Session) -> str:
        return str(await session.ask("Sure?", bool))

    @app.tool(enabled=declaring("elicitation", "url"))
    async def pay(session: mcp.Session) -> str:
        answer = await session.elicit_url("Pay", "1", "https://bank.example/")
        return str(answer.action)

    @app.tool(enabled=declaring("sampling"))
    async def summarize(session: mcp.Session) -> str:
        answer: Any = await session.create_message([], 9)
        return str(answer.content.text)

    @app.tool(enabled=declaring("roots"))
    async def where(session: mcp.Session) -> str:
        return " ".join(root.uri for root in (await session.list_roots()).roots)

    @app.resource("memo://where", enabled=declaring("roots"))
    async def memo(session: mcp.Session) -> str:
        return " ".join(root.uri for root in (await session.list_roots()).roots)

    del choose, pay, summarize, where, memo
    return app


@pytest.fixture
def shy(mcp_gen: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `mcp-gen` where every server is this one."""

    def opener(server: NamedServer) -> object:
        return in_memory(new_server())

    monkeypatch.setattr(NamedServer, "opener", opener)
    return mcp_gen


def tools(shy: Run, *options: str) -> list[str]:
    ran = shy("list", SHY, "tools", "--format", "json", *options)
    assert (ran.code, ran.err) == (0, ""), ran
    return [tool["name"] for tool in json.loads(ran.out)["tools"]]


def test_a_list_has_the_tools_for_the_declared_abilities(shy: Run, tmp_path: Path) -> None:
    for revision in BOTH_ERAS:
        chosen = ("--revision", revision)
        for options, names in (
            ([], []),
            (["--elicitation"], ["choose", "pay"]),
            (["--sampling"], ["summarize"]),
            (["--roots", str(tmp_path)], ["where"]),
            (
                ["--elicitation", "--sampling", "--root", str(tmp_path)],
                ["choose", "pay", "summarize", "where"],
            ),
        ):
            with case(f"{revision} {options}"):
                assert tools(shy, *options, *chosen) == names
    assert tools(shy, "--elicitation", "--revision", "2025-03-26") == []


def test_folders_are_for_reading_too(shy: Run, tmp_path: Path) -> None:
    for revision in BOTH_ERAS:
        with case(revision):
            ran = shy("read", SHY, "memo://where", "--roots", str(tmp_path), "--revision", revision)
            assert (ran.code, ran.out) == (0, tmp_path.as_uri()), ran
    ran = shy("list", SHY, "--roots", str(tmp_path / "gone"))
    assert (ran.code, "gone' does not exist" in ran.err) == (2, True)


def test_a_sampling_request_is_answered_by_the_given_text_or_refused(shy: Run) -> None:
    call = ("call", SHY, "summarize", "--sampling")
    for revision in BOTH_ERAS:
        with case(revision):
            answered = shy(*call, "--answer", "sampling=It rains.", "--revision", revision)
            assert (answered.code, answered.out, answered.err) == (0, "It rains.\n", "")
            refused = shy(*call, "--revision", revision)
            assert (refused.code, refused.out) == (1, ""), refused
            assert refused.err.startswith(
                "the server asked a model for a text, and was refused: give --answer sampling=TEXT,"
                " or run it in a terminal\n"
            )
    unlisted = shy("call", SHY, "summarize", "--answer", "sampling=x")
    assert (unlisted.code, "the server asked nothing" in unlisted.err) == (2, True)


def test_questions_without_a_terminal_say_how_to_answer_them(shy: Run) -> None:
    for revision in BOTH_ERAS:
        with case(revision):
            chosen = ("--elicitation", "--revision", revision)
            ran = shy("call", SHY, "choose", *chosen)
            assert ran.code == 1
            assert "the server's question 'Sure?' was cancelled: give --answer " in ran.err
            ran = shy("call", SHY, "pay", *chosen)
            assert ran.code == 1
            assert (
                "the server's question 'Pay' was cancelled: it wants to open a page, so run it in a"
                " terminal\n"
            ) in ran.err


REQUIRED = {
    "choose": "hint: give --elicitation with --answer NAME=VALUE\n",
    "summarize": "hint: give --sampling\n",
    "where": "hint: give --roots DIR\n",
}


def test_an_error_about_a_missing_ability_names_its_option(
    shy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offer(*_: str) -> bool:
        return True

    monkeypatch.setitem(globals(), "declaring", offer)
    for tool, hint in REQUIRED.items():
        with case(tool):
            ran = shy("call", SHY, tool)
            assert (ran.code, ran.err.endswith(hint)) == (1, True), ran
