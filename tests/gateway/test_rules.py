"""Rules of a gateway: only principals for whom one holds have the items that they are about."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from mcp_protogen.servers.bridge.logs import DETAILS
from mcp_protogen.servers.gateway.access.access_rules import AccessRules
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import RuleSettings
from support.auth.guarding import OTHER, READING, WRITING, authentication, bearing
from support.gateway.gateways import (
    behind,
    client_at,
    client_of,
    gateway,
    gateway_settings,
    serve_gateway,
)
from support.gateway.hidden import NAMES, reach, server_with_secrets
from support.gateway.listing import Listing, tools_of
from support.http.serving import Site
from support.json_types import Json, JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import CAPABILITIES, META, pkg, request
from support.sessions.wiretap import UPDATED
from support.tables import case
from support.toolkit.mounting import Hearing, names_of, only, text_of, weather

SECRETS: JsonObject = {
    "tools": ("closed", "*_secret", "a_*"),
    "prompts": ("closed", "*_secret", "a_*"),
    "resources": ("db://closed*", "db://*secret*"),
}
# Ada has them, and Ben has not.
CONDITIONS: tuple[JsonObject, ...] = (
    {"principals": ("a?a",)},
    {"claims": {"tenant": "two"}},
    {"principals": ("eve", "ada"), "scopes": frozenset({"read", "write"})},
)


def rule(*servers: str, **members: Any) -> RuleSettings:
    return RuleSettings(servers=servers or ("a",), **members)


@asynccontextmanager
async def serve_with_rules(
    *servers: Any, rules: tuple[RuleSettings, ...]
) -> AsyncGenerator[Site, None]:
    """Serve a gateway that knows Ada and Ben by their tokens."""
    settings = gateway_settings(*servers, rules=rules)
    async with serve_gateway(settings, authentication=authentication()) as site:
        yield site


@asynccontextmanager
async def clients(
    site: Site, revision: str, *tokens: str, **headers: str
) -> AsyncGenerator[list[Any], None]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                client_at(site.url, pkg.load(revision).Client(), **bearing(token), **headers)
            )
            for token in tokens
        ]


async def test_items_of_a_rule_are_reached_by_no_method_unless_it_holds() -> None:
    bare: JsonObject = {"prefix": "", "uris": "keep"}
    for revision, condition, names in product(ERAS, CONDITIONS, ({}, bare)):
        server = server_with_secrets()
        with case((revision, condition, names)):
            async with (
                serve_with_rules(
                    behind("a", server, **names), rules=(rule(**SECRETS, **condition),)
                ) as site,
                clients(site, revision, WRITING, OTHER) as (ada, ben),
            ):
                start = "" if names else "a_"
                found = await names_of(ben)
                assert found["tools"] == found["prompts"] == [f"{start}open"]
                assert len(found["resources"]) == len(found["templates"]) == 1
                await reach(revision, ben, bool(names))
                assert {*server.named} == {"open", "db://open", "db://open/{x}"}
                found = await names_of(ada)
                assert found["tools"] == found["prompts"] == [f"{start}{name}" for name in NAMES]
                # Odd spellings of a URI fit no pattern, and are hidden.
                assert len(found["resources"]) == 3
                assert await text_of(ada, f"{start}closed") == "called"


async def test_rule_about_a_whole_server_keeps_others_away_from_it() -> None:
    for revision in ERAS:
        one, other = Listing("x"), Listing("x")
        rules = (rule("b", scopes=frozenset({"write"}), principals=("ada",)),)
        with case(revision):
            async with (
                serve_with_rules(behind("a", one), behind("b", other), rules=rules) as site,
                clients(site, revision, WRITING, OTHER) as (ada, ben),
            ):
                assert await tools_of(ada) == ["a_x", "b_x"]
                assert await text_of(ada, "b_x") == "called" and other.opened == 1
                assert await tools_of(ben) == ["a_x"]
                with pytest.raises(pkg.McpError, match="Unknown tool: b_x"):
                    await text_of(ben, "b_x")
                assert other.opened == 1


async def test_without_a_token_no_rule_holds() -> None:
    for condition in CONDITIONS:
        fronts = gateway(behind("a", Listing("x")), rules=(rule(**condition),))
        for revision in ERAS:
            with case((condition, revision)):
                async with client_of(fronts, revision=revision) as one:
                    assert await tools_of(one) == []
                    with pytest.raises(pkg.McpError, match="Unknown tool"):
                        await text_of(one, "a_x")


SPOOFED: Json = {
    "principal": "ada",
    "sub": "ada",
    "claims": {"tenant": "two"},
    "scopes": ["read", "write"],
    "io.modelcontextprotocol/principal": {"id": "ada", "claims": {"tenant": "two"}},
}


async def test_claims_that_a_client_sends_count_for_nothing() -> None:
    server = Listing("x")
    said = {"x-principal": "ada", "x-forwarded-user": "ada", "mcp-principal": "ada"}
    async with serve_with_rules(
        behind("a", server), rules=(rule(claims={"tenant": "two"}),)
    ) as site:
        session = await site.initialize(OLD, {**bearing(OTHER), **said}, ada={"tenant": "two"})
        of_two_eras: JsonObject = {"name": "a_x", "arguments": SPOOFED}
        headers = {**bearing(OTHER), **said}
        modern = site.modern("tools/call", meta={**META, **SPOOFED}, headers=headers, **of_two_eras)
        call = request("tools/call", 1, _meta=SPOOFED, **of_two_eras)
        for answer in (await session.post(call), await modern):
            assert answer.json()["error"]["message"].startswith("Unknown tool: a_x")
    assert server.named == []


async def test_token_of_the_request_decides_within_a_session() -> None:
    server = Listing("x")
    rules = (rule(scopes=frozenset({"write"})),)
    async with serve_with_rules(behind("a", server), rules=rules) as site:
        session = await site.initialize(OLD, bearing(WRITING))

        async def ask(token: str, method: str, **params: Any) -> Any:
            return (await session.post(request(method, 1, **params), bearing(token))).json()

        for _ in range(2):
            assert "result" in await ask(WRITING, "tools/call", name="a_x")
            assert "error" in await ask(READING, "tools/call", name="a_x")
            assert (await ask(READING, "tools/list"))["result"]["tools"] == []
            assert len((await ask(WRITING, "tools/list"))["result"]["tools"]) == 1
        for uri in ("db://a/x", "db://a/y"):
            await ask(WRITING, "resources/subscribe", uri=uri)
        async with session.get(headers=bearing(READING)) as events:
            await server.tell(UPDATED, uri="db://x")
            await asyncio.sleep(0.05)
            await ask(WRITING, "ping")
            await server.tell(UPDATED, uri="db://y")
            # What came while the token was a lesser one is lost.
            assert (await events.take())["params"]["uri"] == "db://a/y"
            # What was permitted may be ended.
            await ask(READING, "resources/unsubscribe", uri="db://a/x")
            assert server.asked[-1] == "resources/unsubscribe"


async def test_answer_to_a_server_that_has_left_needs_a_rule_that_holds() -> None:
    rules = (rule(scopes=frozenset({"write"})),)
    settings = gateway_settings(behind("a", only(weather(OLD))), rules=rules)
    made = Gateway(settings, pkg)
    meta: JsonObject = {**META, CAPABILITIES: {"elicitation": {}}}
    async with serve_gateway(made, authentication=authentication()) as site:

        async def call(token: str, **more: Any) -> Any:
            given: Any = {"name": "a_age", "meta": meta, "headers": bearing(token), **more}
            return (await site.modern("tools/call", **given)).json()

        asked = (await call(WRITING))["result"]
        made.apply(replace(settings, rules=(rule(principals=("ada",)),)))
        said = {"action": "accept", "content": {"value": 42}}
        answer = {
            "inputResponses": dict.fromkeys(asked["inputRequests"], said),
            "requestState": asked["requestState"],
        }
        assert "result" not in await call(READING, **answer)
        assert (await call(WRITING, **answer))["result"]["content"][0]["text"] == "42 years"


async def test_subscriptions_to_items_of_a_rule_reach_no_others() -> None:
    for revision in ERAS:
        server, ada, ben = server_with_secrets(), Hearing(revision), Hearing(revision)
        uris = [uri.replace("://", "://a/") for uri in ("db://open", "db://closed")]
        with case(revision):
            async with (
                serve_with_rules(
                    behind("a", server), rules=(rule(**SECRETS, principals=("ada",)),)
                ) as site,
                client_at(site.url, ada.client, **bearing(WRITING)),
                client_at(site.url, ben.client, **bearing(OTHER)),
                ada.hearing(*uris),
                ben.hearing(*uris),
            ):
                assert sorted(server.named) == ["db://closed", "db://open", "db://open"]
                for uri in ("db://closed", "db://open"):
                    await server.tell(UPDATED, uri=uri)
                await ada.hears(*uris)
                await ben.hears("db://a/open")


async def test_shared_lists_are_filtered_for_each_principal_and_never_public() -> None:
    for catalogue in ("shared", "own"):
        server = Listing("open", "closed", revision=STATELESS)
        server.hints = {"ttlMs": 60_000, "cacheScope": "public"}
        for rules, scope in (((rule(**SECRETS, principals=("ada",)),), "private"), ((), "public")):
            with case((catalogue, scope)):
                async with (
                    serve_with_rules(behind("a", server, catalogue=catalogue), rules=rules) as site,
                    clients(site, STATELESS, OTHER, WRITING, OTHER) as found,
                ):
                    pages = [await client.list_tools() for client in found]
                    seen = [[tool.name for tool in page.tools] for page in pages]
                    all_tools, some = ["a_open", "a_closed"], ["a_open"]
                    assert seen == ([some, all_tools, some] if rules else [all_tools] * 3)
                    assert {page.cache_scope for page in pages} == {scope}
        assert server.asked.count("tools/list") == (2 if catalogue == "shared" else 4)


async def test_rules_follow_the_server_when_two_have_one_name() -> None:
    for revision in ERAS:
        for first, of_ben in (("a", []), ("b", ["x"])):
            servers = {"a": Listing("x"), "b": Listing("x")}
            other = "b" if first == "a" else "a"
            with case((revision, first)):
                async with (
                    serve_with_rules(
                        *(behind(name, servers[name], prefix="") for name in (first, other)),
                        rules=(rule("a", principals=("ada",)),),
                    ) as site,
                    clients(site, revision, OTHER, WRITING) as (ben, ada),
                ):
                    # The first server owns the name for every client.
                    assert await tools_of(ben) == of_ben and await tools_of(ada) == ["x"]
                    assert await text_of(ada, "x") == "called"
                    if of_ben:
                        assert await text_of(ben, "x") == "called"
                    else:
                        with pytest.raises(pkg.McpError, match="Unknown tool: x"):
                            await text_of(ben, "x")
                assert servers[other].named == []


async def test_denied_requests_are_in_the_access_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp_protogen.gateway.access")
    for revision in ERAS:
        caplog.clear()
        async with (
            serve_with_rules(behind("a", Listing("x")), rules=(rule(principals=("ada",)),)) as site,
            clients(site, revision, OTHER) as (ben,),
        ):
            with pytest.raises(pkg.McpError):
                await text_of(ben, "a_x")
        found = [dict(getattr(entry, DETAILS)) for entry in caplog.records]
        names = ("principal", "method", "server", "item", "outcome")
        with case(revision):
            assert [[entry[name] for name in names] for entry in found] == [
                ["ben", "tools/call", "a", "a_x", "denied"]
            ]


CLAIMS: JsonObject = {
    "team": "red",
    "groups": ["staff", "ops", 3],
    "scope": "a:read  a:write",
    "level": 3,
    "admin": True,
    "zero": 0,
    "empty": "",
    "nothing": None,
    "realm_access": {"roles": ["owner"], "deep": {"x": "y"}},
}


def test_claim_is_equal_or_has_the_value_as_element_word_or_member() -> None:
    for wanted, holds in (
        ({"team": "red"}, True),
        ({"team": "Red"}, False),
        ({"team": "re"}, False),
        ({"groups": "ops"}, True),
        ({"groups": 3}, True),
        ({"groups": "3"}, False),
        ({"groups": "staf"}, False),
        ({"scope": "a:write"}, True),
        ({"scope": "a:read  a:write"}, True),
        ({"scope": "a:"}, False),
        ({"level": 3}, True),
        ({"level": True}, False),
        ({"admin": True}, True),
        ({"admin": 1}, False),
        ({"zero": False}, False),
        ({"empty": "x"}, False),
        ({"nothing": "x"}, False),
        ({"missing": "x"}, False),
        ({"realm_access": {"roles": "owner"}}, True),
        ({"realm_access": {"roles": "user"}}, False),
        ({"realm_access": {"deep": {"x": "y"}}}, True),
        ({"realm_access": "roles"}, False),
        ({"team": {"red": "red"}}, False),
        ({"team": "red", "level": 3}, True),
        ({"team": "red", "level": 4}, False),
    ):
        with case(wanted):
            ada = pkg.Principal("ada", claims=CLAIMS)
            assert AccessRules([rule(claims=wanted)]).permit("tools", "x", ada) is holds


def test_item_needs_one_rule_that_is_about_it_in_every_spelling() -> None:
    rules = AccessRules(
        [
            rule(resources=("db://secret*",), scopes=frozenset({"secret"})),
            rule(resources=("db://public*",), scopes=frozenset({"public"})),
            rule(tools=("get_*", "delete_*"), scopes=frozenset({"read"})),
            rule(tools=("delete_*",), scopes=frozenset({"admin"})),
        ]
    )
    for kind, own, needed in (
        ("resources", "db://secret", [{"secret"}]),
        ("resources", "DB://secret", []),
        ("resources", "db://public/../secret", []),
        ("resources", "db://secret/../secret", [{"secret"}]),
        ("resources", "db://public", [{"public"}]),
        ("resource_templates", "db://secret/{x}", [{"secret"}]),
        ("resources", "db://other", [set[str]()]),
        ("tools", "get_x", [{"read"}]),
        ("tools", "delete_x", [{"read"}, {"admin"}]),
        ("prompts", "get_x", [set[str]()]),
    ):
        for words in ("secret", "public", "secret public", "read", "admin", ""):
            scopes = frozenset(words.split())
            with case((kind, own, words)):
                permitted = rules.permit(kind, own, pkg.Principal("ada", scopes))
                assert permitted is any(some <= scopes for some in needed)
