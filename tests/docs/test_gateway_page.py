"""The pages of the gateway: their files can be used, and their tables have every member."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from mcp_protogen.servers.connect.authorization import AUTH_CHOICES
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.settings.settings import (
    GatewaySettings,
    RuleSettings,
    ServerSettings,
)
from support.docs.pages import block_texts, page

FILE, ACCESS = "gateway.md", "gateway-access.md"
MADE = {
    *("file", "servers", "secrets", "place", "address", "opener", "opener_digest", "transport"),
    *("telemetry", "locked", "token_exchange", "login", "open_as"),
}


def test_files_of_the_pages_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MAPS_KEY", "HUB_TOKEN", "ID", "SECRET", "REDIS_PASSWORD", "STATE_KEY"):
        monkeypatch.setenv(variable, "a-secret-of-the-page")
    (json_text,) = block_texts(FILE, "json")
    rules, exchange, logins = block_texts(ACCESS, "toml")
    of_file, shared = block_texts(FILE, "toml")
    toml_texts = [of_file, rules]
    (tmp_path / "mcp.json").write_text(json_text)
    (tmp_path / "gateway.toml").write_text("\n".join(toml_texts))
    files, maps = read_settings(tmp_path / "mcp.json").servers
    assert (files.concurrency, maps.address) == (1, "https://maps.example.com/mcp")
    settings = read_settings(tmp_path / "gateway.toml")
    hub, files = settings.servers
    assert settings.name == "team" and settings.auth is not None
    assert (hub.auth, hub.timeout, hub.rename) == ("bearer", 90, {"search_code": "code"})
    assert [rule.servers for rule in settings.rules] == [("files",), ("hub",)]
    # The exchange in place of the token.
    changed = "\n".join(toml_texts).replace('auth = "bearer:HUB_TOKEN"\n', "") + exchange
    (tmp_path / "gateway.toml").write_text(changed)
    assert read_settings(tmp_path / "gateway.toml").servers[0].token_exchange is not None
    (tmp_path / "gateway.toml").write_text(f'{shared}[servers.files]\ncommand = "files"\n')
    assert read_settings(tmp_path / "gateway.toml").state_keys == ("a-secret-of-the-page",)
    (tmp_path / "gateway.toml").write_text(logins)
    assert read_settings(tmp_path / "gateway.toml").servers[0].login is not None
    assert hub.deny == {"tools": ("delete_*",)} and files.questions == {"elicitation", "roots"}


def test_tables_of_the_pages_have_every_member() -> None:
    text = page(FILE) + page(ACCESS)
    tables = {
        title: set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]+) \|", rows, re.M))))
        for title, rows in re.findall(r"^\| ([^|\n]+) \| \|\n((?:\|.*\n)+)", text, re.M)
    }
    of_server = {field.name for field in fields(ServerSettings)} - MADE - {"name"}
    assert tables["of the gateway"] == {field.name for field in fields(GatewaySettings)} - MADE
    assert tables["of a server"] == of_server
    assert tables["of a rule"] == {field.name for field in fields(RuleSettings)}
    kinds = {kind for kind in AUTH_CHOICES if kind != "auto"}
    (table,) = re.findall(r"^\| `auth` \| \|\n((?:\|.*\n)+)", text, re.M)
    assert {*re.findall(r"^\| `([a-z-]+)", table, re.M)} == kinds | {"login"}
