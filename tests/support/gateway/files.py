"""Configuration files of gateways that have every member, and copies with one of them damaged."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings

Json = dict[str, Any]

_WHOLE: Final = ("rename", "allow", "deny", "headers", "env", "claims")
"""Members whose own members have any names."""

OF_GATEWAY: Final[Json] = {
    "name": "team",
    "title": "Team",
    "instructions": "Ask.",
    "separator": "-",
    "lock": "warn",
    "list_timeout": 2.5,
    "logins": "logins.json",
    "admin": "127.0.0.1:9464",
    "admin_hosts": ["gateway.internal"],
    "share": "redis://localhost",
    "state_keys": ["0123456789abcdef"],
    "auth": {"issuer": "https://login.example", "audience": "https://mcp.example", "scopes": ["a"]},
    "rules": [
        {
            "servers": ["s0"],
            "tools": ["delete_*"],
            "prompts": ["*"],
            "resources": ["db://{table}"],
            "principals": ["*|ada"],
            "scopes": ["write"],
            "claims": {"groups": "staff", "level": 3, "admin": True, "realm": {"roles": "admin"}},
        }
    ],
}
OF_HOST: Final[Json] = {
    "type": "http",
    "url": "https://api.example.com/mcp",
    "headers": {"X-Team": "blue"},
}
PROGRAM: Final[Json] = {"command": "npx", "args": ["-y", "some-files"], "env": {"LEVEL": 3}}
OF_SERVER: Final[Json] = {
    "prefix": "hub",
    "separator": ".",
    "rename": {"search_code": "code"},
    "uris": "keep",
    "allow": {"tools": ["get_*"], "prompts": [], "resources": ["a:*"]},
    "deny": {"tools": ["delete_*"]},
    "revision": "2025-06-18",
    "questions": ["elicitation", "roots"],
    "timeout": 90,
    "max_timeout": 900.5,
    "concurrency": 1,
    "max_connections": 7,
    "limits": {"concurrent": 5, "per_minute": 60},
    "catalogue": "shared",
    "required": True,
    "lock": "enforce",
    "auth": "none",
}
# A value of the wrong type or outside the limits, by member.
WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "name": (3, []),
    "title": (3, {}),
    "instructions": (True, "merge"),
    "separator": (3, "", " ", "/"),
    "list_timeout": ("3", 0, -1, True),
    "logins": (3, "no-folder/logins.json", "."),
    "admin": (9464, "", "127.0.0.1", "a b:1", "localhost:70000"),
    "admin_hosts": ("gateway.internal", [3], ["http://gateway"], ["a:b:c"]),
    "share": (3, "", "localhost:6379", "redis://a@b/c@d"),
    "state_keys": ("0123456789abcdef", [], ["short"], [3]),
    "issuer": (3, "", "login.example", "https://login.example?a=b"),
    "audience": ([], "mcp", "https://mcp.example#a", "ftp://mcp.example", "https://a@mcp.example"),
    "scopes": ("a", [3], ["a b"], ["offline_access"]),
    "type": ("ws", 3),
    "url": (3, "ftp://x", "mcp"),
    "headers": ("X-Team: blue", {"X": [1]}),
    "command": (3, []),
    "args": ("-y", [[]]),
    "env": ("LEVEL=3", {"LEVEL": {}}),
    "prefix": (3, "a b", "a/b"),
    "rename": ("code", {"search_code": 3}, {"search_code": "a b"}, {"a": "b", "c": "b"}),
    "uris": ("kept", True),
    "allow": (["get_*"], {"tools": "get_*"}, {"tool": []}, {"tools": [3]}),
    "deny": (["get_*"], {"tools": "get_*"}, {"prompt": []}, {"tools": [3]}),
    "revision": ("2025-06-17", 2025),
    "questions": ("roots", ["forms"], {}),
    "timeout": ("90", 0, True, 1000),
    "max_timeout": ("90", 0, True, 80),
    "concurrency": (0, 1.5, "1", True),
    "max_connections": (0, 1.5, "1", True),
    "limits": (3, {"per_hour": 3}),
    "concurrent": (0, 1.5, "1", True),
    "per_minute": (0, 1.5, "1", True),
    "rules": ("staff", {}, ["staff"]),
    "servers": ("s0", [], [3], ["s2"]),
    "tools": ("get_*", [], [3]),
    "prompts": ("get_*", [], [3]),
    "resources": ("a:*", [], [3]),
    "principals": ("ada", [], [3]),
    "claims": (["staff"], {"groups": ["staff"]}, {"groups": ""}, {"a": {"b": 1.5}}, {"a": 1.5}),
    "catalogue": ("mine", True),
    "required": ("yes", 1),
    "lock": ("on", True),
    "auth": (3, "basic:ID", "bearer", "bearer:NOT_SET"),
}


def as_json(gateway: Json, *servers: tuple[Json, Json]) -> Json:
    """Return an `mcp.json` with members of hosts and ours for each server."""
    named = {f"s{number}": {**host, "x-gateway": own} for number, (host, own) in enumerate(servers)}
    return {"mcpServers": named, "x-gateway": gateway}


def as_toml(gateway: Json, *servers: tuple[Json, Json]) -> Json:
    """Return the same for a TOML file."""
    named = {f"s{number}": {**host, **own} for number, (host, own) in enumerate(servers)}
    return {"gateway": gateway, "servers": named}


def write_file(folder: Path, content: Json) -> Path:
    """Write a file of the form that the content is for."""
    if "gateway" not in content:
        file = folder / "mcp.json"
        file.write_text(json.dumps(content))
        return file
    file = folder / "gateway.toml"
    file.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in content.items()))
    return file


def _toml(value: Any) -> str:
    if is_object(value):
        members = (f"{json.dumps(name)} = {_toml(member)}" for name, member in value.items())
        return f"{{{', '.join(members)}}}"
    return f"[{', '.join(map(_toml, value))}]" if is_array(value) else json.dumps(value)


def read(folder: Path, content: Json) -> GatewaySettings:
    return read_settings(write_file(folder, content))


def problems_in(folder: Path, content: Json) -> tuple[Problem, ...]:
    """Return the problems of a file; none if it can be used."""
    try:
        read(folder, content)
    except ProblemError as error:
        assert {problem.place for problem in error.problems} <= {
            str(folder / "mcp.json"),
            str(folder / "gateway.toml"),
        }
        return error.problems
    return ()


def damaged_contents(content: Json) -> Iterator[tuple[list[str], Any, Json]]:
    """Yield the path of each member, a wrong value, and the content with it."""
    for steps in _paths(content, []):
        for wrong in WRONG.get(steps[-1], ()):
            copy = deepcopy(content)
            table = copy
            for step in steps[:-1]:
                table = table[int(step)] if is_array(table) else table[step]
            if steps != ["servers"] and not (
                isinstance(table[steps[-1]], dict) and steps[-1] == "auth"
            ):
                table[steps[-1]] = wrong
                yield steps, wrong, copy


def _paths(table: Json, above: list[str]) -> Iterator[list[str]]:
    for name, value in table.items():
        yield [*above, name]
        if is_object(value) and name not in _WHOLE:
            yield from _paths(value, [*above, name])
        if is_array(value):
            for number, element in enumerate(value):
                if is_object(element):
                    yield from _paths(element, [*above, name, str(number)])
