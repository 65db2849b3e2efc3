"""The settings of a gateway, from files of hosts and from TOML; every mistake is shown at once."""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.settings.settings import (
    AuthSettings,
    RuleSettings,
    ServerSettings,
)
from support.gateway.files import (
    OF_GATEWAY,
    OF_HOST,
    OF_SERVER,
    PROGRAM,
    Json,
    as_json,
    as_toml,
    damaged_contents,
    problems_in,
    read,
    write_file,
)
from support.gateway.gateways import http_side
from support.running import Run
from support.tables import case

FORMS = (as_json, as_toml)
CODE = "bad-gateway-config"


def where(problems: Sequence[Problem]) -> list[str]:
    """Return the places of problems, as JSON pointers."""
    return [
        problem.pointer if problem.pointer[:1] in ("", "/") else f"/{problem.pointer}"
        for problem in problems
    ]


def test_both_forms_of_a_file_have_all_settings(tmp_path: Path) -> None:
    for form in FORMS:
        with case(form.__name__):
            found = read(tmp_path, form(OF_GATEWAY, (OF_HOST, OF_SERVER), (PROGRAM, {})))
            assert (found.name, found.title, found.instructions) == ("team", "Team", "Ask.")
            assert (found.separator, found.list_timeout) == ("-", 2.5)
            assert found.auth == AuthSettings(
                issuer="https://login.example",
                audience="https://mcp.example",
                scopes=frozenset({"a"}),
            )
            (rule,), (own,) = found.rules, OF_GATEWAY["rules"]
            assert {name: getattr(rule, name) for name in own} == {
                name: value if name == "claims" else tuple(value) for name, value in own.items()
            } | {"scopes": {"write"}}
            hub, files = found.servers
            for name, value in OF_SERVER.items():
                with case(name):
                    read_value = getattr(hub, name)
                    if isinstance(read_value, frozenset):
                        assert read_value == set(value)
                    else:
                        assert json.loads(json.dumps(read_value)) == value
            assert (hub.transport, hub.address) == ("HTTP", "https://api.example.com/mcp")
            assert (files.name, files.prefix, files.separator) == ("s1", "s1", "-")
            assert (files.transport, files.address) == ("stdio", "some-files")
            assert files.questions == {"elicitation"} and files.concurrency is None


def test_every_member_that_is_damaged_is_one_problem_with_its_place(tmp_path: Path) -> None:
    seen = set[str]()
    for form in FORMS:
        content = form(OF_GATEWAY, (OF_HOST, OF_SERVER), (PROGRAM, {}))
        for steps, wrong, copy in damaged_contents(content):
            with case(f"{form.__name__} {steps} {wrong!r}"):
                (problem,) = problems_in(tmp_path, copy)
                assert problem.code == CODE and problem.message and problem.hint
                pointer = "/" + problem.pointer.lstrip("/").replace(".", "/")
                other = {"max_timeout": "timeout", "url": ""}.get(steps[-1], steps[-1])
                starts = ["/" + "/".join([*steps[:-1], name]) for name in (steps[-1], other)]
                assert pointer.startswith(tuple(start.rstrip("/") for start in starts))
                seen.add(steps[-1])
    assert seen >= {*OF_GATEWAY, *OF_HOST, *PROGRAM, *OF_SERVER, *OF_GATEWAY["rules"][0]}


def test_tables_cover_every_setting() -> None:
    made = {"name", "place", "address", "opener", "opener_digest", "transport", "locked"}
    made |= {"token_exchange", "login", "open_as"}
    assert {field.name for field in fields(ServerSettings)} - made == OF_SERVER.keys()
    assert {field.name for field in fields(RuleSettings)} == OF_GATEWAY["rules"][0].keys()


def test_unknown_member_has_a_hint_with_the_nearest_one(tmp_path: Path) -> None:
    for form in FORMS:
        with case(form.__name__):
            content = form(
                {**OF_GATEWAY, "list_timeot": 3, "auth": {**OF_GATEWAY["auth"], "isuer": "x"}},
                (OF_HOST, {**OF_SERVER, "concurency": 1, "place": "x", "opener": 1}),
            )
            found = {problem.pointer: problem.hint for problem in problems_in(tmp_path, content)}
            for pointer, hint in found.items():
                if "concurency" in pointer:
                    assert hint == "did you mean concurrency?"
            assert len(found) == 5


def test_file_of_a_host_may_have_members_of_others_but_toml_may_not(tmp_path: Path) -> None:
    host = {**OF_HOST, "autoApprove": ["x"], "timeout": "of another host"}
    assert read(tmp_path, {"mcpServers": {"a": host}, "theme": "dark"}).servers[0].timeout == 60
    mine: Json = {**OF_HOST, "autoApprove": True}
    content: Json = {"gateway": {}, "servers": {"a": mine}, "theme": "dark"}
    assert where(problems_in(tmp_path, content)) == ["/theme", "/servers.a.autoApprove"]


def test_instructions_of_servers_cannot_be_merged_yet(tmp_path: Path) -> None:
    (problem,) = problems_in(tmp_path, as_toml({"instructions": "merge"}, (OF_HOST, {})))
    assert problem.pointer == "gateway.instructions"
    assert "not supported yet" in problem.message


def make_file(host: Any, **own: Any) -> Json:
    """Return a file with one server."""
    return {"mcpServers": {"a": {**host, "x-gateway": own} if own else host}}


RULE: Json = {"scopes": ["write"]}

BAD: dict[str, tuple[Json, str, str]] = {
    "no servers": ({"x-gateway": {}}, "", "add an object mcpServers"),
    "no servers in TOML": ({"gateway": {}}, "", "add a table [servers.NAME]"),
    "no enabled server": (make_file({**OF_HOST, "disabled": True}), "", "enabled"),
    "required, but disabled": (
        {"mcpServers": {"a": {"enabled": False, "x-gateway": {"required": True}}, "b": PROGRAM}},
        "/mcpServers/a/x-gateway/required",
        "disabled",
    ),
    "ambiguous names": ({"servers": {"a": PROGRAM, "a_b": PROGRAM}}, "/servers/a_b", "same name"),
    "new name under another prefix": (
        {"servers": {"a": {**PROGRAM, "x-gateway": {"rename": {"x": "b_y"}}}, "b": PROGRAM}},
        "/servers/a",
        "could be 'y' of b",
    ),
    "name that is no prefix": (
        *({"servers": {"日本": PROGRAM}}, "/servers/日本/x-gateway/prefix", "pattern"),
    ),
    "names with one prefix": (
        {"servers": {"my files": PROGRAM, "my-files": PROGRAM}},
        "/servers/my-files",
        "same name",
    ),
    "neither program nor URL": (
        *({"mcpServers": {"a/b": {"x-gateway": {"prefix": ""}}}}, "/mcpServers/a~1b"),
        "needs either",
    ),
    "clients without an issuer": (
        {**make_file(PROGRAM), "x-gateway": {"auth": {"audience": "https://a"}}},
        "/x-gateway/auth/issuer",
        "required",
    ),
    "rules without tokens": (
        {**make_file(PROGRAM), "x-gateway": {"rules": [{**RULE, "servers": ["a"]}]}},
        "/x-gateway/rules",
        "clients need none",
    ),
    **{
        f"rule {name}": (
            {**make_file(PROGRAM), "x-gateway": {"auth": OF_GATEWAY["auth"], "rules": [rule]}},
            f"/x-gateway/rules/0{pointer}",
            message,
        )
        for name, rule, pointer, message in (
            ("about no server", RULE, "", "names no servers"),
            ("without a condition", {"servers": ["a"]}, "", "no condition"),
            (
                "about another server",
                {**RULE, "servers": ["a", "aa"]},
                "/servers",
                "no server 'aa'",
            ),
        )
    },
    "server that is no object": (make_file(3), "/mcpServers/a", "object"),
    "our members in no object": (
        *(make_file({**PROGRAM, "x-gateway": []}), "/mcpServers/a/x-gateway", "must be an object"),
    ),
    "variable that is not set": (
        *(make_file({**PROGRAM, "env": {"KEY": "${NOT_SET}"}}), "/mcpServers/a/env/KEY", "not set"),
    ),
    "variable of a header that is not set": (
        make_file({**OF_HOST, "headers": {"X": "Bearer ${NOT_SET}"}}),
        "/mcpServers/a/headers/X",
        "not set",
    ),
    "variable of a URL that is not set": (
        *(make_file({"url": "${NOT_SET}/mcp"}), "/mcpServers/a/url", "not set"),
    ),
    "header that is not one": (
        *(make_file({**OF_HOST, "headers": {"X": " x"}}), "/mcpServers/a", "spaces"),
    ),
    "file of a secret that is missing": (
        make_file({**OF_HOST, "headers": {"X": "${file:no}"}}),
        "/mcpServers/a/headers/X",
        "No such file",
    ),
    "value that only a user gives": (
        {"servers": {"a": {**PROGRAM, "env": {"KEY": "${input:key}"}}}},
        "/servers/a/env/KEY",
        "cannot ask",
    ),
    "credentials of a program": (
        *(make_file(PROGRAM, auth="none"), "/mcpServers/a/x-gateway/auth", "no requests over HTTP"),
    ),
    "two authorizations": (
        make_file({**OF_HOST, "headers": {"authorization": "x"}}, auth="oauth"),
        "/mcpServers/a/x-gateway/auth",
        "Authorization",
    ),
}


def test_mistakes_between_members_are_one_problem_each(tmp_path: Path) -> None:
    for name, (content, pointer, message) in BAD.items():
        with case(name):
            (problem,) = problems_in(tmp_path, content)
            assert problem.pointer == pointer and message in problem.message and problem.hint


def test_all_problems_are_shown_at_once_with_the_exit_code_of_bad_input(
    tmp_path: Path, mcp_gen: Run
) -> None:
    content = as_json(
        {"nme": "x"},
        ({"url": "ftp://x"}, {"timeout": 0, "uris": "kept"}),
        ({"command": 3, "args": "x", "env": {"A": "${NOT_SET}"}}, {"prefx": ""}),
    )
    ran = mcp_gen("gateway", str(write_file(tmp_path, content)))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count(f"error[{CODE}]: {tmp_path}/mcp.json#/") == 7
    for text in ("/timeout", "/uris", "/s1/command", "/s1/args", "/prefx", "mean name?"):
        assert text in ran.err


def test_file_that_cannot_be_read_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text("{")
    (tmp_path / "wrong.toml").write_text("[gateway")
    (tmp_path / "wrong.bin").write_bytes(b"\xff\xfe\x00")
    for name in ("wrong.json", "wrong.toml", "wrong.bin", "missing.toml", "."):
        with case(name), pytest.raises(ProblemError) as caught:
            read_settings(tmp_path / name)
        (problem,) = caught.value.problems
        assert (problem.code, problem.place) == (CODE, str(tmp_path / name))


def test_variables_and_files_of_secrets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFIX", "hub")
    (tmp_path / "name").write_text("the team\n")
    content = as_json(
        {"name": "${file:name}", "title": "${NOT_SET:-Team}"},
        (OF_HOST, {"prefix": "${PREFIX}", "deny": {"tools": ["${PREFIX}_*"]}}),
    )
    found = read(tmp_path, content)
    assert (found.name, found.title) == ("the team", "Team")
    assert found.servers[0].prefix == "hub" and found.servers[0].deny == {"tools": ("hub_*",)}


def test_login_of_one_user_serves_stdio_and_this_machine_only(tmp_path: Path) -> None:
    login = (OF_HOST, {"auth": "oauth"})
    alone = write_file(tmp_path, as_json({}, login, (PROGRAM, {})))
    for allowed in (None, http_side("127.0.0.1"), http_side("::1"), http_side("localhost")):
        settings = read_settings(alone, allowed)
        assert [server.auth for server in settings.servers] == ["oauth", "none"]
    with_tokens = write_file(tmp_path, as_toml(OF_GATEWAY, login))
    read_settings(with_tokens, None)
    for host in ("0.0.0.0", "127.0.0.1"):
        with case(host), pytest.raises(ProblemError) as caught:
            read_settings(with_tokens, http_side(host))
        (problem,) = caught.value.problems
        assert problem.pointer == "servers.s0"
        assert "one user" in problem.message


# Files as hosts have them, and the servers in them with their addresses.
HOSTS: dict[str, tuple[str, dict[str, str]]] = {
    ".vscode/mcp.json": (
        """{
        // A comment, and "a text" in it.
        "inputs": [{"id": "wind", "type": "promptString", "default": "calm"},],
        "servers": { /* one, } */
            "here": {
                "type": "stdio",
                "command": "${env:PYTHON_HERE}",
                "args": ["${workspaceFolder}${/}said.py", "${input:wind}",],
                "envFile": "${workspaceFolder}/.env",
                "x-gateway": {"prefix": "vs"}, // ours
            },
        },
        }""",
        {"here": "said.py"},
    ),
    ".cursor/mcp.json": (
        '{"mcpServers": {"here": {"command": "npx", "args": ["-y", "pkg"], "envFile": ".env"}}}',
        {"here": "pkg"},
    ),
    "gemini.json": (
        '{"mcpServers": {"far": {"httpUrl": "https://far.example/mcp", "url": "http://x/sse"}}}',
        {"far": "https://far.example/mcp"},
    ),
    "windsurf.json": (
        '{"mcpServers": {"far": {"serverUrl": "${SITE}/mcp?key=${KEY}", "disabled": null}}}',
        {"far": "${SITE}/mcp"},
    ),
    "zed.json": (
        """{"context_servers": {
            "far": {"source": "custom", "url": "https://far.example/mcp", "enabled": true},
            "off": {"command": "x", "enabled": false},
            "extension": {"settings": {}}
        }}""",
        {"far": "https://far.example/mcp"},
    ),
}


def test_files_are_taken_as_hosts_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("PYTHON_HERE", "python"), ("SITE", "https://site.example"), ("KEY", "k")):
        monkeypatch.setenv(name, value)
    (tmp_path / ".env").write_text("LAND='green #1'\n")
    for name, (text, addresses) in HOSTS.items():
        with case(name):
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"\ufeff{text}", "utf-8")
            servers = read_settings(file).servers
            assert {server.name: server.address for server in servers} == addresses
            (server,) = servers
            assert server.prefix == ("vs" if "vscode" in name else server.name)


def test_name_of_a_server_may_be_any_text(tmp_path: Path) -> None:
    names = {
        "my files": "my-files",
        "@scope/x": "scope-x",
        "io.github/Some Server: v2": "io.github-Some-Server-v2",
        "caf\u00e9 1": "caf-1",
        "_a.b-c": "_a.b-c",
    }
    for form in ("mcpServers", "servers", "context_servers"):
        with case(form):
            servers = read(tmp_path, {form: dict.fromkeys(names, PROGRAM)}).servers
            assert {server.name: server.prefix for server in servers} == names
    servers = read(tmp_path, {"gateway": {}, "servers": dict.fromkeys(names, PROGRAM)}).servers
    assert {server.name: server.prefix for server in servers} == names
