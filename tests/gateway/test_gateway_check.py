"""`--check` and `--dry-run` of a gateway: what its servers answer, and what clients lose."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.gateway.pages.check import ServerCheck, check_servers
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from support import formats
from support.auth.guarding import telling
from support.calling import foreign_server
from support.calling.servers import new_task_server
from support.gateway.files import (
    OF_GATEWAY,
    OF_HOST,
    OF_SERVER,
    PROGRAM,
    as_json,
    as_toml,
    write_file,
)
from support.gateway.gateways import behind
from support.http.serving import serving
from support.revisions import HANDSHAKE, NEWEST, OLD, REVISIONS, STATELESS
from support.running import Run
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import app, only


async def checks_of(*servers: ServerSettings) -> list[ServerCheck]:
    return await check_servers(GatewaySettings(file="mcp.json", servers=servers))


def counting(revision: str, **options: Any) -> Any:
    """Return a server of one revision, with a tool whose result older revisions cannot describe."""
    made = only(app(revision, "counter", version="1.2", **options))

    def count(text: str) -> dict[str, int]:
        """Count characters."""
        return {"characters": len(text)}

    def now() -> str:
        return "now"

    def greet() -> str:
        return "hello"

    made.add_tool(count)
    made.resource("data://now")(now)
    made.prompt(greet)
    return made


async def test_server_is_described_with_the_losses_of_clients_of_other_revisions() -> None:
    for own in (OLD, STATELESS):
        with case(own):
            (check,) = await checks_of(behind("counter", counting(own)))
            assert check.problem is None and check.listed is not None
            assert (check.revision, check.speaks) == (own, [own])
            assert check.listed.server["name"] == "counter"
            assert check.losses.keys() == {*REVISIONS} - {own}
            assert any("outputSchema" in text for text in check.losses[HANDSHAKE[0]])
            assert not any(
                "outputSchema" in text for text in check.losses[max({*REVISIONS} - {own})]
            )


async def test_client_of_a_revision_that_the_server_speaks_loses_nothing() -> None:
    made = counting(OLD)
    made.REVISIONS = tuple(pkg.REVISIONS)
    (check,) = await checks_of(behind("counter", made))
    assert check.speaks == [*REVISIONS] and check.revision == NEWEST and check.losses == {}
    (pinned,) = await checks_of(behind("counter", made, revision=HANDSHAKE[0]))
    assert pinned.speaks == [HANDSHAKE[0]] == [pinned.revision]
    assert pinned.losses.keys() == {*REVISIONS[1:]}


async def test_items_that_no_client_sees_are_named_with_the_reason() -> None:
    made = counting(OLD)
    for name in ("delete_all", "x" * 128):
        made.add_tool(lambda: "done", name=name)
    deny = {"tools": ("delete_*",), "resources": ("data:*",)}
    (check,) = await checks_of(behind("counter", made, deny=deny))
    texts = "\n".join(check.left_out)
    for text in (
        "tools by allow and deny: delete_all",
        "resources by allow and deny: data://now",
        f"'{'x' * 128}' is left out, because its name is 'counter_",
    ):
        assert text in texts
    assert check.listed is not None and len(check.listed.lists[Kind.TOOLS]) == 3


async def test_items_with_a_name_of_an_earlier_server_are_named() -> None:
    one, other = (behind(name, counting(OLD), prefix="") for name in ("one", "other: 2"))
    first, second = await checks_of(one, other)
    assert first.left_out == []
    assert any("'count'" in text and "one has an item" in text for text in second.left_out)


async def test_tasks_are_lost_for_clients_of_revisions_without_them() -> None:
    (tasks,), (plain,) = [
        await checks_of(behind("s", made)) for made in (new_task_server(), counting(STATELESS))
    ]
    assert tasks.left_out == plain.left_out == []
    lost = "tasks: calls wait for their results"
    for revision, losses in tasks.losses.items():
        assert (lost in losses) == (revision not in (OLD, STATELESS))
    assert not any(lost in losses for losses in plain.losses.values())


async def test_questions_on_a_shared_program_are_named_unless_calls_queue() -> None:
    program = behind("old", counting(OLD))
    unlimited = (
        replace(program, concurrency=1),
        replace(program, transport="HTTP"),
        replace(program, questions=frozenset()),
        behind("new", counting(STATELESS)),
    )
    (check,) = await checks_of(program)
    assert any("concurrency = 1" in text for text in check.losses[STATELESS])
    assert not any("concurrency" in text for text in check.losses[HANDSHAKE[0]])
    for server in unlimited:
        with case(server):
            (check,) = await checks_of(server)
            assert not any("concurrency" in str(texts) for texts in check.losses.values())


@pytest.mark.skips_time
async def test_server_that_is_gone_or_silent_does_not_hide_the_others() -> None:
    async def silent() -> Any:
        await asyncio.Event().wait()

    gone, quiet, good = await checks_of(
        behind("gone"), behind("silent", silent), behind("good", counting(OLD))
    )
    assert gone.problem is not None and "nothing runs there" in gone.problem.message
    assert quiet.problem is not None and "within 30 s" in quiet.problem.message
    for check in (gone, quiet):
        assert check.problem is not None and check.problem.hint
        assert check.problem.place == check.server.place and check.listed is None
    assert good.problem is None and good.speaks == [OLD]


async def test_server_that_wants_a_token_is_a_failure_with_advice() -> None:
    async with serving(counting(OLD), authentication=telling()) as site:
        url = f"http://127.0.0.1:{site.port}/mcp"
        (check,) = await checks_of(behind("closed", pkg.open_http(url), transport="HTTP"))
    assert check.problem is not None and "401" in check.problem.message
    assert "bearer:VARIABLE" in check.problem.hint and "--" not in check.problem.hint


async def test_failure_for_clients_of_one_revision_names_it() -> None:
    made = counting(STATELESS)
    opener, opened = pkg.connect.opener(made), list[int]()

    async def open_once() -> Any:
        opened.append(1)
        if len(opened) > 1:
            raise pkg.Disconnected("it is full")
        return await opener()

    (check,) = await checks_of(behind("once", open_once))
    assert check.problem is not None and check.listed is not None
    assert check.problem.message == f"for clients of {OLD}: it is full"


def servers_file(folder: Path, **programs: list[str]) -> str:
    servers = {name: {"command": words[0], "args": words[1:]} for name, words in programs.items()}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return str(folder / "mcp.json")


def test_failing_server_is_exit_code_1_with_the_reason(mcp_gen: Run, tmp_path: Path) -> None:
    foreign = [sys.executable, foreign_server.__file__]
    file = servers_file(tmp_path, good=foreign, gone=["no-such-program"])
    ran = mcp_gen("gateway", file, "--check")
    assert (ran.code, ran.err) == (1, "")
    for text in (
        "1 tool, 1 prompt, 1 resource, 1 template",
        f"speaks {OLD}",
        f"clients of {HANDSHAKE[0]} lose",
        "gone: no-such-program failed",
        "#/mcpServers/gone: cannot start no-such-program",
        "1 of 2 servers failed",
    ):
        assert text in ran.out
    ran = mcp_gen("gateway", servers_file(tmp_path, good=foreign), "--check", "--format", "json")
    document = json.loads(ran.out)
    assert (ran.code, formats.faults("gateway-check", document)) == (0, [])
    (server,) = document["servers"]
    assert server["counts"] == {"tools": 1, "prompts": 1, "resources": 1, "templates": 1}
    assert server["problem"] is None and server["speaks"] == [OLD]


def test_json_of_a_failure_is_as_described(mcp_gen: Run, tmp_path: Path) -> None:
    ran = mcp_gen("gateway", servers_file(tmp_path, gone=["no"]), "--check", "--format", "json")
    document = json.loads(ran.out)
    assert (ran.code, formats.faults("gateway-check", document)) == (1, [])
    assert document["servers"][0]["problem"]["code"] == "no-connection"


def test_plan_has_every_setting_and_connects_to_nothing(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    for form in (as_json, as_toml):
        with case(form.__name__):
            content = form(OF_GATEWAY, (OF_HOST, OF_SERVER), (PROGRAM, {}))
            file = str(write_file(tmp_path, content))
            ran = mcp_gen("gateway", file, "--dry-run")
            assert (ran.code, ran.err) == (0, "")
            for text in (
                "team, a gateway for 2 servers",
                "tokens     of https://login.example for https://mcp.example, with a",
                "hub.NAME",
                "search_code to code",
                "tools get_*; prompts none; resources a:*",
                "tools delete_*",
                "2025-06-18",
                "elicitation, roots",
                "90 s without progress, at most 900.5 s",
                "1 at a time",
                "7 connections",
                "5 calls of a principal at the same time; 60 calls of a principal per minute",
                "principals *|ada and scopes write and claims",
                "s0 (tools delete_*; prompts *; resources db://{table})",
                "shared by all clients",
                "ready only with it",
                "s1: some-files",
            ):
                assert text in ran.out
            ran = mcp_gen("gateway", file, "--dry-run", "--format", "json")
            document = json.loads(ran.out)
            assert (ran.code, formats.faults("gateway-plan", document)) == (0, [])
            hub, files = document["servers"]
            same = OF_SERVER.keys() - {"max_timeout", "max_connections", "limits", "revision"}
            for name in same:
                assert hub[name] == OF_SERVER[name]
            assert (hub["maxTimeout"], hub["maxConnections"]) == (900.5, 7)
            assert hub["limits"] == {"concurrent": 5, "perMinute": 60}
            (rule,), (own,) = document["rules"], OF_GATEWAY["rules"]
            kinds = ("tools", "prompts", "resources")
            assert rule == {"items": {kind: own[kind] for kind in kinds}} | {
                name: value for name, value in own.items() if name not in kinds
            }
            assert hub["revisions"] == [OF_SERVER["revision"]]
            assert files["revisions"] == [*REVISIONS] and files["transport"] == "stdio"


def test_options_without_effect_are_refused(mcp_gen: Run, tmp_path: Path) -> None:
    file = servers_file(tmp_path, gone=["no"])
    for options in (("--check", "--dry-run"), ("--format", "json"), ("--path", "/x")):
        with case(options):
            ran = mcp_gen("gateway", file, *options)
            assert ran.code == 2 and "error[conflicting-options]" in ran.err
