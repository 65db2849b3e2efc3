"""Items that patterns hide: no method reaches them."""

import asyncio
from functools import partial
from typing import Any

import pytest
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.listing import Listing, tool
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import Hearing, names_of

pytestmark = pytest.mark.skips_time

HIDDEN = {
    "allow": {"tools": ("open*",), "prompts": ("open*",), "resources": ("db://open*", "db://o/*")},
    "deny": {"tools": ("*_secret",), "prompts": ("*_secret",), "resources": ("db://*secret*",)},
}
NAMES = ("open", "closed", "open_secret")
URIS = ("db://open", "db://closed", "db://open_secret", "db://o/%73ecret", "DB://open/../closed")
TEMPLATES = ("db://open/{x}", "db://closed/{x}", "db://open_secret/{x}")


def server_with_secrets() -> Listing:
    """Return a server with an item to see and two to hide in each list."""
    server = Listing()
    server.lists = {
        "tools": [tool(name) for name in NAMES],
        "prompts": [{"name": name} for name in NAMES],
        "resources": [{"uri": uri, "name": uri} for uri in URIS],
        "resourceTemplates": [{"uriTemplate": uri, "name": uri} for uri in TEMPLATES],
    }
    return server


async def reach(revision: str, one: Any, is_bare: bool) -> None:
    """Try all methods with all names; all errors are those of unknown names."""
    m: Any = pkg.load(revision).models
    argument = m.CompleteRequestParamsArgument(name="x", value="")

    def complete(reference: Any) -> Any:
        return one.complete(reference, argument)

    start = "" if is_bare else "a_"
    for name in (*NAMES, *(f"a_{name}" for name in NAMES)):
        for kind, ask in (
            ("tool", partial(one.call_tool, name, {})),
            ("prompt", partial(one.get_prompt, name, {})),
            ("reference", partial(complete, m.PromptReference(name=name))),
        ):
            if name == f"{start}open":
                await ask()
            else:
                with pytest.raises(pkg.McpError, match=f"Unknown {kind}: {name}") as raised:
                    await ask()
                assert raised.value.code == -32602
    for uri in (*URIS, *TEMPLATES, "db://closed/1", "db://open_secret/1"):
        key = uri if is_bare else uri.replace("://", "://a/")
        for ask in (
            partial(one.read_resource, key),
            partial(complete, m.ResourceTemplateReference(uri=key)),
        ):
            if uri in ("db://open", "db://open/{x}"):
                await ask()
            else:
                with pytest.raises(pkg.McpError, match=r"not found|Unknown reference"):
                    await ask()


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
