"""The patterns that allow or deny items of servers behind a gateway."""

from typing import Any

import pytest
from mcp_protogen.servers.gateway.settings.filters import Filters
from support.tables import case

SPELLINGS = (
    "file:///secret/x",
    "FILE:///secret/x",
    "file:////secret/x",
    "file:///./secret/x",
    "file:///a/../secret/x",
    "file:///../secret/x",
    "file:///%73ecret/x",
    "file:///a/%2e%2e/secret/x",
    "file:///a/..%2Fsecret/x",
    "file:///secret//x",
    " file:///secret/x",
    "\x01file:///secret/x",
    "fi\nle:///se\tcret/x",
    "file:///\\secret\\x",
    "file:///a\\..\\secret/x",
)
# Other URIs, which many servers take for the same file.
SAME_FILES = (
    "file:secret/x",
    "file:/secret/x",
    "file://localhost/secret/x",
    "file://any/a/../secret/x",
    "file:///Secret/x",
    "file:///secret?x",
    "file:///secret#x",
    "file:///a/..\\secret?x",
    "file://any/secret#x",
    "file:///./secret?/../../a",
)


def offers_of(kind: Any, names: list[str], allow: Any = None, deny: Any = None) -> list[str]:
    filters = Filters(
        {} if allow is None else {kind: tuple(allow)}, {} if deny is None else {kind: tuple(deny)}
    )
    return [name for name in names if filters.offer(kind, name)]


def test_patterns_are_globs_and_deny_wins() -> None:
    names = ["read", "read_all", "delete", "Read"]
    for allow, deny, expected in (
        (None, None, names),
        (["read*"], None, ["read", "read_all"]),
        (["rea?"], None, ["read"]),
        (["[rd]e*d", "delete"], None, ["read", "delete"]),
        (None, ["read*"], ["delete", "Read"]),
        (["read*"], ["read"], ["read_all"]),
        ([], None, []),
        (None, [], names),
    ):
        with case((allow, deny)):
            for kind in ("tools", "prompts"):
                assert offers_of(kind, names, allow, deny) == expected


def test_patterns_are_for_one_kind() -> None:
    filters = Filters({"tools": ("a",)}, {"prompts": ("a",)})
    assert filters.offer("tools", "a")
    assert not filters.offer("prompts", "a")
    assert filters.offer("prompts", "b")
    assert filters.offer("resources", "a:")
    assert filters.offer("resource_templates", "a:{x}")


@pytest.mark.parametrize("uri", SPELLINGS)
def test_a_uri_is_denied_in_every_spelling(uri: str) -> None:
    assert offers_of("resources", [uri], deny=["file:///secret/*"]) == []


@pytest.mark.parametrize("uri", SAME_FILES)
def test_a_uri_is_denied_that_a_server_may_take_for_a_denied_one(uri: str) -> None:
    assert offers_of("resources", [uri], deny=["file:///secret", "file:///secret/*"]) == []


def test_a_query_and_a_host_are_allowed_as_they_are() -> None:
    uris = ["db://Host/q?x=1", "file://share/a"]
    for uri in uris:
        assert offers_of("resources", uris, allow=[uri.replace("?", "[?]")]) == [uri]


@pytest.mark.parametrize("uri", SPELLINGS)
def test_a_uri_is_allowed_only_if_all_its_spellings_are(uri: str) -> None:
    assert offers_of("resources", [uri], allow=["file:///a/*"]) == []
    assert offers_of("resources", ["file:///a/b//c", "file:///a/"], allow=["file:///a/*"])


def test_the_pattern_of_a_template_is_for_its_uris_too() -> None:
    uris = ["db://{table}", "db://users", "db://users/1", "db:///", "other://users"]
    assert offers_of("resources", uris, allow=["db://{table}"]) == ["db://{table}", "db://users"]
    assert offers_of("resources", uris, deny=["db://{table}"]) == ["other://users"]
    deep = ["file:///a/b/c", "file:///a/{+path}"]
    assert offers_of("resources", deep, deny=["file:///a/{+path}"]) == []
    assert offers_of("resources", deep, allow=["file:///a/{+path}"]) == deep
    beside = ["file:///a/../b", "file:///b"]
    assert offers_of("resources", beside, allow=["file:///a/{+path}"]) == []
