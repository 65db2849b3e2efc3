"""Items that patterns hide: no method reaches them."""

import asyncio
from typing import Any

import pytest
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.hidden import URIS, reach, server_with_secrets
from support.gateway.listing import Listing
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import Hearing, names_of

pytestmark = pytest.mark.skips_time

HIDDEN = {
    "allow": {"tools": ("open*",), "prompts": ("open*",), "resources": ("db://open*", "db://o/*")},
    "deny": {"tools": ("*_secret",), "prompts": ("*_secret",), "resources": ("db://*secret*",)},
}


async def test_hidden_items_are_reached_by_no_method() -> None:
    for revision in ERAS:
        for settings in ({}, {"prefix": "", "uris": "keep"}, {"prefix": ""}):
            with case((revision, settings)):
                server = server_with_secrets()
                fronts = gateway(behind("a", server, **HIDDEN, **settings))
                name, uri = ("open", "db://open") if settings else ("a_open", "db://a/open")
                async with client_of(fronts, revision=revision) as one:
                    assert await names_of(one) == {
                        "tools": [name],
                        "prompts": [name],
                        "resources": [uri],
                        "templates": [f"{uri}/{{x}}"],
                    }
                    await reach(revision, one, bool(settings))
                assert {*server.named} == {"open", "db://open", "db://open/{x}"}


async def test_subscriptions_to_hidden_resources_reach_no_server() -> None:
    for revision in ERAS:
        with case(revision):
            server = server_with_secrets()
            hearing = Hearing(revision)
            async with client_of(gateway(behind("a", server, **HIDDEN)), hearing.client) as one:
                await names_of(one)
                uris = [uri.replace("://", "://a/") for uri in URIS]
                async with hearing.hearing(*uris):
                    await asyncio.sleep(1)
                    assert server.named == ["db://open"]
                    updated = "notifications/resources/updated"
                    for uri in URIS:
                        await server.tell(updated, uri=uri)
                    await hearing.hears("db://a/open")


async def test_a_renamed_item_is_hidden_by_its_own_name() -> None:
    server = Listing("secret", "x")
    settings: dict[str, Any] = {"deny": {"tools": ("secret",)}, "rename": {"secret": "open"}}
    async with client_of(gateway(behind("a", server, **settings))) as one:
        assert (await names_of(one))["tools"] == ["a_x"]
        for name in ("open", "secret", "a_secret", "a_open"):
            if name == "a_open":
                continue
            with pytest.raises(pkg.McpError, match="Unknown tool"):
                await one.call_tool(name, {})
    assert server.named == []
