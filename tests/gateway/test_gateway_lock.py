"""The lock of a gateway as a file: read, compared with servers, and written for some of them."""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.servers.clients.severities import severities
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.pages.check import check_servers
from mcp_protogen.servers.gateway.pages.lock_page import list_items, lock_page
from mcp_protogen.servers.gateway.settings.lock_file import lock_beside, lock_content, read_lock
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from support import formats
from support.calling import foreign_server
from support.gateway.files import PROGRAM, as_json, as_toml, read, write_file
from support.gateway.gateways import behind, gateway_settings
from support.gateway.listing import Listing, tool
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.running import Run
from support.tables import case
from support.toolkit.mounting import only, weather


def page_of(
    folder: Path, *servers: ServerSettings, accept: Collection[str] = (), format: str = "text"
) -> FindingsPage:
    """Compare the lock of a gateway with these servers, and write it for those to accept."""
    settings = GatewaySettings(file=str(folder / "gateway.toml"), servers=servers)
    return lock_page(settings, accept, View(format))


def codes_of(page: FindingsPage) -> list[dict[str, str]]:
    """Return the items of each server that have changed, by code."""
    assert formats.faults("gateway-lock-page", page.text) == []
    servers = json.loads(page.text)["servers"]
    for server in servers:
        assert formats.faults("comparison", server["comparison"]) == []
    return [
        {change["code"]: change["item"] for change in server["comparison"]["changes"]}
        for server in servers
    ]


def test_first_lock_is_written_only_for_servers_that_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "gateway.lock"
    one, other = behind("one", only(weather(OLD))), behind("other", weather(STATELESS))
    page = page_of(tmp_path, one, other)
    assert page.failed and not file.exists()
    assert "forecast" in page.text and "--lock --accept one --accept other" in page.text
    assert page_of(tmp_path, one, other, accept=["other"]).failed
    assert {*read_lock(file)} == {"other"} and read_lock(file)["other"].revision == STATELESS
    page = page_of(tmp_path, one, other, accept=["one"])
    assert not page.failed and f"{file}: one accepted" in page.text
    assert read_lock(file)["one"].revision == OLD
    before = file.read_bytes()
    assert formats.faults("gateway-lock", before) == []
    page = page_of(tmp_path, one, other)
    assert not page.failed and "as accepted" in page.text and "nothing has changed" in page.text
    for accept in (["all"], ["one", "other"]):
        assert not page_of(tmp_path, one, other, accept=accept).failed
        assert file.read_bytes() == before == lock_content(read_lock(file))


def test_each_change_of_an_item_is_shown_and_fails_until_it_is_accepted(tmp_path: Path) -> None:
    server, lists = Listing(), dict[str, list[JsonObject]]()
    lists["tools"] = [tool("x", description="Look."), tool("y")]
    lists["prompts"] = [{"name": "p", "description": "Ask."}]
    lists["resources"] = [{"uri": "db://r", "name": "r", "mimeType": "text/plain"}]
    lists["resourceTemplates"] = [{"uriTemplate": "db://{x}", "name": "t"}]
    server.lists = lists
    assert not page_of(tmp_path, behind("a", server), accept=["a"]).failed
    seen: dict[str, str] = {}
    for member, items, expected in (
        (
            "tools",
            [tool("x", description="Send keys."), tool("y")],
            {"tool-description-changed": "x"},
        ),
        ("tools", [tool("x", description="Look.")], {"tool-removed": "y"}),
        ("tools", [*lists["tools"], tool("z", description="New.")], {"tool-added": "z"}),
        ("tools", [tool("w", description="Look."), tool("y")], {"tool-renamed": "x"}),
        ("tools", [*lists["tools"][:1], tool("y", other="text")], {"item-changed": "y"}),
        ("prompts", [{"name": "p", "description": "Send."}], {"prompt-description-changed": "p"}),
        ("prompts", [], {"prompt-removed": "p"}),
        ("resources", [{"uri": "db://r", "name": "r"}], {"item-changed": "db://r"}),
        *(
            ("resources", [{**lists["resources"][0], member: value}], {code: "db://r"})
            for member, value, code in (
                ("title", "R", "resource-title-changed"),
                ("description", "Send keys.", "resource-description-changed"),
                ("icons", [{"src": "https://x"}], "resource-icons-changed"),
                ("_meta", {"a": 1}, "resource-meta-changed"),
                ("uri", "db://s", "resource-renamed"),
            )
        ),
        (
            "resources",
            [*lists["resources"], {"uri": "db://s", "name": "s", "title": "S"}],
            {"resource-added": "db://s"},
        ),
        ("resources", [], {"resource-removed": "db://r"}),
        (
            "resourceTemplates",
            [{"uriTemplate": "db:{x}", "name": "t"}],
            {"template-uri-changed": "t"},
        ),
        ("tools", lists["tools"][::-1], {}),
    ):
        seen |= expected
        with case((member, items)):
            server.lists = {**lists, member: items}
            page = page_of(tmp_path, behind("a", server), format="json")
            assert codes_of(page) == [expected] and page.failed == bool(expected)
    assert {code for code in severities() if code.startswith(("resource-", "item-"))} <= seen.keys()
    server.lists = {**lists, "tools": [tool("w", description="Send keys.")]}
    text = page_of(tmp_path, behind("a", server)).text
    for part in ("tool-added: host", "tool-removed: caller, model"):
        assert part in text
    assert not page_of(tmp_path, behind("a", server), accept=["a"]).failed
    assert not page_of(tmp_path, behind("a", server)).failed


def test_server_that_cannot_be_asked_fails_and_keeps_its_part(tmp_path: Path) -> None:
    servers = behind("one", Listing("x")), behind("other", Listing("x"))
    assert not page_of(tmp_path, *servers, accept=["all"]).failed
    before = read_lock(tmp_path / "gateway.lock")
    for gone in (behind("one"), behind("one", deep_server(99))):
        with case(gone):
            page = page_of(tmp_path, gone, behind("other", Listing("x", "y")), accept=["all"])
            assert page.failed
            assert "one: one failed" in page.text and "is kept" in page.text
            after = read_lock(tmp_path / "gateway.lock")
            assert after["one"] == before["one"] and after["other"] != before["other"]
            page = page_of(tmp_path, gone, format="json")
            assert codes_of(page) == [{}]
            assert json.loads(page.text)["servers"][0]["problem"]["hint"]


def deep_server(levels: int) -> Listing:
    """Return a server whose tool has a schema with members within members."""
    server, schema = Listing(), JsonObject(type="object")
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    server.lists["tools"] = [tool("x", inputSchema=schema)]
    return server


def test_deepest_item_that_can_be_accepted_can_be_read(tmp_path: Path) -> None:
    assert page_of(tmp_path, behind("a", deep_server(31))).text.count("deny") == 1
    page_of(tmp_path, behind("a", deep_server(30)), accept=["a"])
    assert not page_of(tmp_path, behind("a", deep_server(30))).failed


def test_items_that_patterns_hide_are_not_in_the_lock(tmp_path: Path) -> None:
    server = Listing("x", "delete_x")
    hub = behind("hub", server, deny={"tools": ("delete_*",)})
    assert not page_of(tmp_path, hub, accept=["hub"]).failed
    tools, *_ = read_lock(tmp_path / "gateway.lock")["hub"].items.values()
    assert {*tools} == {"x"}


def test_server_to_accept_must_be_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as raised:
        page_of(tmp_path, behind("hub", Listing("x")), accept=["hubb"])
    (problem,) = raised.value.problems
    assert (problem.code, problem.hint) == ("wrong-usage", "did you mean hub?")


def test_the_mode_is_that_of_the_gateway_or_of_the_server(tmp_path: Path) -> None:
    for form in (as_json, as_toml):
        with case(form.__name__):
            file = write_file(tmp_path, form({"lock": "warn"}, (PROGRAM, {})))
            assert not page_of(tmp_path, behind("s0", Listing("x")), accept=["s0"]).failed
            (tmp_path / "gateway.lock").replace(lock_beside(str(file)))
            content = form({"lock": "warn"}, (PROGRAM, {}), (PROGRAM, {"lock": "enforce"}))
            first, second = read(tmp_path, content).servers
            assert first.locked is not None and {first.lock, second.lock} == {"warn", "enforce"}
            assert second.locked is None
            assert read(tmp_path, form({}, (PROGRAM, {}))).servers[0].lock == "off"


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ("{", ""),
        ("[]", ""),
        ({"kind": "typed client"}, "/kind"),
        ({"format": 2}, "/format"),
        ({"servers": []}, "/servers"),
        ({"servers": {"a": {}}}, "/servers/a"),
        ({"servers": {"a": {"revision": "2020-01-01"}}}, "/servers/a/revision"),
        ({"servers": {"a": {"revision": OLD, "tool": {}}}}, "/servers/a"),
        ({"servers": {"a": {"revision": OLD, "tools": {"x": {}}}}}, "/servers/a/tools/x"),
        (
            {"servers": {"a": {"revision": OLD, "prompts": {"x": {"arguments": [1]}}}}},
            "/servers/a/prompts/x/arguments/0",
        ),
    ],
)
def test_malformed_lock_is_one_problem_with_its_place(
    tmp_path: Path, content: Any, pointer: str
) -> None:
    usual: JsonObject = {"format": 1, "kind": "gateway", "servers": {}}
    text = content if isinstance(content, str) else json.dumps({**usual, **content})
    lock = tmp_path / "gateway.lock"
    lock.write_text(text)
    with pytest.raises(ProblemError) as raised:
        read(tmp_path, as_toml({"lock": "enforce"}, (PROGRAM, {})))
    (problem,) = raised.value.problems
    assert (problem.code, problem.place, problem.pointer) == (
        "bad-gateway-lock",
        str(lock),
        pointer,
    )
    assert problem.message and problem.hint
    # Without a lock, it does not matter.
    assert read(tmp_path, as_toml({"lock": "off"}, (PROGRAM, {}))).servers


def test_commands_accept_a_server_and_show_what_it_changes(mcp_gen: Run, tmp_path: Path) -> None:
    program, text = tmp_path / "server.py", Path(foreign_server.__file__).read_text()
    program.write_text(text)
    host = {"command": sys.executable, "args": [str(program)]}
    file = str(write_file(tmp_path, as_json({"lock": "enforce"}, (host, {}))))
    ran = mcp_gen("gateway", file, "--lock")
    assert (ran.code, ran.err) == (1, "") and not (tmp_path / "mcp.lock").exists()
    ran = mcp_gen("gateway", file, "--lock", "--accept", "s0")
    assert (ran.code, ran.err) == (0, "")
    program.write_text(text.replace('TEXT: Final = "nasty"', 'TEXT: Final = "worse"'))
    ran = mcp_gen("gateway", file, "--lock")
    assert (ran.code, ran.err) == (1, "") and "tool-description-changed: model, host" in ran.out
    (server,) = read_settings(Path(file)).servers
    assert server.locked is not None and server.locked.revision == OLD


async def test_a_check_says_what_the_lock_hides() -> None:
    locked = await list_items(behind("hub", Listing("x")))
    hub = behind("hub", Listing("x", "y"), lock="enforce", locked=locked)
    (check,) = await check_servers(gateway_settings(hub))
    assert any("'y' of its tools is hidden, because it is new" in text for text in check.left_out)
    (check,) = await check_servers(gateway_settings(behind("hub", Listing("x"), lock="enforce")))
    assert any("--lock --accept hub" in text for text in check.left_out)


def test_options_of_the_lock_without_effect_are_refused(mcp_gen: Run, tmp_path: Path) -> None:
    file = str(write_file(tmp_path, as_json({}, (PROGRAM, {}))))
    for options in (("--lock", "--check"), ("--lock", "--dry-run"), ("--accept", "s0")):
        with case(options):
            ran = mcp_gen("gateway", file, *options)
            assert ran.code == 2 and "error[conflicting-options]" in ran.err
