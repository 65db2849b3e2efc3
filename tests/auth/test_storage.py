"""Storage of tokens: its places, its keys, and its limits."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from mcp_protogen.runtime.features.auth.client import stored
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.storage import (
    FileStorage,
    KeyringStorage,
    MemoryStorage,
    TokenStorage,
)
from mcp_protogen.runtime.features.auth.client.values import (
    Authorization,
    ClientInformation,
    ResourceMetadata,
    ServerMetadata,
    Tokens,
)
from mcp_protogen.runtime.features.auth.dpop import DPoP
from support.tables import case

URL = "https://mcp.example/mcp"
ISSUER = "https://login.example"
SETTINGS = OAuthSettings()
CLIENT = ClientInformation(
    client_id="registered", client_secret="its secret", issuer=ISSUER, redirect_uris=("https://x",)
)
KNOWN = Authorization(
    url=URL,
    resource_metadata=ResourceMetadata(
        resource="https://mcp.example", authorization_servers=(ISSUER,), scopes_supported=("a",)
    ),
    server=ServerMetadata(
        issuer=ISSUER, authorization_endpoint=None, token_endpoint=f"{ISSUER}/token"
    ),
    client=CLIENT,
    tokens=Tokens(
        access_token="access", refresh_token="refresh", expires_at=12.5, scopes=frozenset({"a"})
    ),
    requested_scopes=frozenset({"a", "b"}),
)


class Entries(ModuleType):
    """A package `keyring` with its entries in memory."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text

    def delete_password(self, service: str, name: str) -> None:
        # The real one raises an error for missing entries.
        del self.kept[service, name]


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Entries:
    made = Entries()
    monkeypatch.setitem(sys.modules, "keyring", made)
    return made


@pytest.fixture
def storages(tmp_path: Path, entries: Entries) -> Iterable[TokenStorage]:
    return MemoryStorage(), FileStorage(tmp_path / "deep" / "tokens.json"), KeyringStorage()


async def test_a_storage_keeps_texts_until_they_are_deleted(
    storages: Iterable[TokenStorage],
) -> None:
    for storage in storages:
        with case(type(storage).__name__):
            assert await storage.get("key") is None
            await storage.delete("key")
            for value in ("one", "two", "ü\n\0"):
                await storage.set("key", value)
                await storage.set("other", "another")
                assert await storage.get("key") == value
            await storage.delete("key")
            assert [await storage.get(key) for key in ("key", "other")] == [None, "another"]


@pytest.mark.shows("TK-07", "RF-01")
async def test_a_file_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "tokens.json"
    await FileStorage(path).set("key", "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {file.name for file in path.parent.iterdir()} == {"tokens.json", "tokens.json.lock"}
    assert "secret" not in repr(FileStorage(path))


@pytest.mark.shows("TK-07")
async def test_a_file_that_others_can_read_is_closed_to_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{"key": "secret"}')
    path.chmod(0o644)
    assert await FileStorage(path).get("key") == "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "others could read" in caplog.text
    assert "secret" not in caplog.text


async def test_several_processes_may_change_one_file(tmp_path: Path) -> None:
    storages = [FileStorage(tmp_path / "tokens.json") for _ in range(10)]
    names = [f"key {number}" for number in range(len(storages))]
    await asyncio.gather(
        *(storage.set(name, name) for storage, name in zip(storages, names, strict=True))
    )
    assert [await storages[0].get(name) for name in names] == names


async def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("my notes", "[1]", '{"number": 1}', "{"):
        path.write_text(text)
        with case(text):
            with pytest.raises(ValueError, match="not a token file"):
                await FileStorage(path).get("key")
            with pytest.raises(ValueError, match="not a token file"):
                await FileStorage(path).set("key", "value")
            assert path.read_text() == text


async def test_a_file_stays_as_it_was_if_it_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileStorage(tmp_path / "tokens.json")
    await storage.set("key", "old")

    def fails(*paths: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no space"):
        await storage.set("key", "new")
    assert await storage.get("key") == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"tokens.json", "tokens.json.lock"}


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ImportError, match="pip install keyring"):
        KeyringStorage()


async def test_an_authorization_is_found_again_by_its_url(storages: Iterable[TokenStorage]) -> None:
    for storage in storages:
        with case(type(storage).__name__):
            assert await stored.load(replace(SETTINGS, storage=storage), URL) == Authorization(
                url=URL
            )
            await stored.save(replace(SETTINGS, storage=storage), replace(KNOWN, step_ups={"x": 1}))
            assert await stored.load(replace(SETTINGS, storage=storage), URL) == KNOWN
            nothing = Authorization(url=f"{URL}/")
            assert await stored.load(replace(SETTINGS, storage=storage), f"{URL}/") == nothing
            await stored.forget(storage, KNOWN)
            assert await stored.load(replace(SETTINGS, storage=storage), URL) == Authorization(
                url=URL
            )


async def test_workload_tokens_are_stored_without_client() -> None:
    storage = MemoryStorage()
    known = replace(KNOWN, client=None, resource_metadata=None)
    await stored.save(replace(SETTINGS, storage=storage), known)
    assert await stored.load(replace(SETTINGS, storage=storage), URL) == known


@pytest.mark.shows("RE-15", "RE-17", "TK-06")
async def test_tokens_are_stored_per_authorization_server(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    storage = FileStorage(path)
    await stored.save(replace(SETTINGS, storage=storage), KNOWN)
    assert KNOWN.server is not None
    moved = replace(KNOWN, server=replace(KNOWN.server, issuer="https://other.example"))
    await stored.save(replace(SETTINGS, storage=storage), replace(moved, tokens=None))
    keys = [json.loads(key) for key in json.loads(path.read_text())]
    assert sorted(keys) == [
        ["client", ISSUER, "registered"],
        ["client", "https://other.example", "registered"],
        ["server", URL],
        ["tokens", ISSUER, "https://mcp.example", "registered"],
    ]
    assert (await stored.load(replace(SETTINGS, storage=storage), URL)).tokens is None


@pytest.mark.shows("TK-07")
async def test_the_secret_of_a_client_of_the_settings_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    storage = FileStorage(path)
    given = replace(CLIENT, issuer=None, private_key="its key")
    settings = OAuthSettings(client=given)
    known = replace(KNOWN, client=replace(given, issuer=ISSUER))
    await stored.save(replace(settings, storage=storage), known)
    assert "its secret" not in path.read_text()
    assert "its key" not in path.read_text()
    assert await stored.load(replace(settings, storage=storage), URL) == known
    # Entries of another client do not count.
    other = OAuthSettings(client=replace(given, client_id="other"))
    assert await stored.load(replace(other, storage=storage), URL) == Authorization(url=URL)


@pytest.mark.shows("RE-15", "RE-16")
async def test_a_client_that_names_its_server_by_now_is_not_shown_to_an_earlier_one() -> None:
    storage = MemoryStorage()
    given = replace(CLIENT, issuer=None)
    await stored.save(OAuthSettings(client=given, storage=storage), KNOWN)
    for issuer, slash, is_kept in (
        (None, False, True),
        (ISSUER, False, True),
        (f"{ISSUER}/", True, True),
        (f"{ISSUER}/", False, False),
        ("https://other.example", True, False),
    ):
        settings = OAuthSettings(client=replace(given, issuer=issuer), trailing_slash=slash)
        with case((issuer, slash)):
            found = await stored.load(replace(settings, storage=storage), URL)
            assert found == (KNOWN if is_kept else Authorization(url=URL))


async def test_tokens_that_are_bound_to_another_key_are_not_used() -> None:
    storage = MemoryStorage()
    assert KNOWN.tokens is not None
    bound = replace(KNOWN, tokens=replace(KNOWN.tokens, token_type="DPoP"))
    settings = OAuthSettings(dpop=DPoP())
    await stored.save(replace(settings, storage=storage), bound)
    assert await stored.load(replace(settings, storage=storage), URL) == bound
    for others in (SETTINGS, OAuthSettings(dpop=DPoP())):
        found = await stored.load(replace(others, storage=storage), URL)
        assert found == replace(bound, tokens=None)


async def test_invalid_stored_tokens_are_ignored_and_hidden(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for text in ("no JSON: secret", "[]", '{"tokens": {"access_token": ["secret"]}}'):
        storage = MemoryStorage()
        await stored.save(replace(SETTINGS, storage=storage), KNOWN)
        key = json.dumps(["tokens", ISSUER, "https://mcp.example", "registered"])
        assert await storage.get(key) is not None
        await storage.set(key, text)
        with case(text):
            assert await stored.load(replace(SETTINGS, storage=storage), URL) == replace(
                KNOWN, tokens=None
            )
            assert "not usable" in caplog.text
            assert "secret" not in caplog.text


async def test_the_query_of_a_url_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    storage, url = MemoryStorage(), f"{URL}?key=secret"
    await storage.set(json.dumps(["server", url]), "[]")
    assert await stored.load(replace(SETTINGS, storage=storage), url) == Authorization(url=url)
    assert URL in caplog.text
    assert "secret" not in caplog.text
