"""Notifications between sides with different versions of an extension, translated by rules."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.client.versions import VersionedClient
from mcp_protogen.runtime.core.extension_versions import (
    VersionCapability,
    VersionedExtension,
    VersionRule,
)
from mcp_protogen.runtime.core.spec import NotificationSpec, Requirement
from mcp_protogen.runtime.messages.extended_table import extended_table
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.translation.plans import Direction, Drop, Members, Method, To
from mcp_protogen.runtime.translation.versions import TranslatedVersions, VersionStep
from mcp_revisions import (
    Loss,
    MissingCapability,
    Options,
    connect_http,
    connect_in_memory,
    http_app,
)
from mcp_revisions import v2026_07_28 as mcp
from support.http.serving import run_own_app

m: Any = mcp.models
NOTES = "example.org/notes"
# The later version has another name for it.
OPENED, SHOWN = "notifications/notes/opened", "notifications/notes/shown"
RULE = VersionRule({"client": "version", "server": "versions"}, True, "1.0.0", "major")
WHY = "Notes of the first version have no logger."
UP = Direction("notes", "notes-v2", {OPENED: Method(None, None, SHOWN)}, {}, {}, {})
DOWN = Direction(
    "notes-v2",
    "notes",
    {SHOWN: Method(To("Params"), None, OPENED)},
    {"Params": Members("Params", drop={"logger": Drop(WHY)})},
    {},
    {},
)


def make_version(base: str, *methods: str) -> VersionedExtension:
    """Return a version with notifications of clients."""
    capability = VersionCapability("server", ("extensions", NOTES), version=base, rule=RULE)
    suffix = "" if base == "1" else f"@{base}"
    notifications: dict[str, NotificationSpec[Any]] = {
        f"{method}{suffix}": NotificationSpec(
            f"{method}{suffix}",
            senders=frozenset({"client"}),
            load_params=lambda: m.LoggingMessageNotificationParams,
            requires=(Requirement(capability, "MUST", "client"),),
        )
        for method in methods
    }
    return VersionedExtension(
        identifier=NOTES,
        revision="2026-07-28",
        notifications=notifications,
        settings={"client": {}, "server": {}},
        table=lambda: TranslatedVersions,
        version=f"{base}.0.0",
        family="notes",
        base=base,
        suffix=suffix,
        rule=RULE,
        steps=lambda: STEPS[base],
    )


FIRST, SECOND = make_version("1", OPENED), make_version("2", SHOWN, "notifications/notes/new")
STEPS = {"1": (VersionStep(SECOND, UP, DOWN),), "2": (VersionStep(FIRST, DOWN, UP),)}


def make_sides(served: VersionedExtension, used: VersionedExtension, heard: Any) -> tuple[Any, Any]:
    """Return a server and a client with a version each; the server passes on what it hears."""

    async def hear(self: Any, session: Any, params: Any) -> None:
        await heard.put(params)

    specs = served.notifications
    members: dict[str, Any] = {"EXTENSION": served, "EXTENDED_TABLE": extended_table}
    handlers: dict[str, Any] = {
        "EXTENDED_SESSION": mcp.Session,
        "hear": None,
        "NOTIFICATIONS": {name: (specs[name], "hear") for name in specs},
    }
    server = type("NotesServer", (ServerBase,), {**members, **handlers})
    client = type("NotesClient", (VersionedClient,), {**members, "EXTENSION": used})
    return (
        type("Server", (server, mcp.Server), {"hear": hear})(),
        type("Client", (client, mcp.Client), {})(),
    )


@asynccontextmanager
async def connect_over_http(
    server: Any, client: Any, options: Options
) -> AsyncGenerator[Any, None]:
    async with run_own_app(http_app(server)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with connect_http(url, client, options=options) as connected:
            yield connected


@pytest.mark.parametrize("connect", [connect_in_memory, connect_over_http])
@pytest.mark.parametrize(("served", "used"), [(FIRST, SECOND), (SECOND, FIRST)])
async def test_a_notification_is_translated_and_its_loss_reported(
    served: VersionedExtension, used: VersionedExtension, connect: Any
) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()
    losses: list[Loss] = []
    server, client = make_sides(served, used, heard)
    params = m.LoggingMessageNotificationParams(level="info", data="one", logger="two")
    options = Options(on_loss=losses.append)
    async with connect(server, client, options=options) as connected:
        spec, *added = used.notifications.values()
        await connected.notify(spec, params)
        got = await asyncio.wait_for(heard.get(), 5)
        assert (got.data, got.logger) == ("one", None if used is SECOND else "two")
        for added_spec in added:
            with pytest.raises(MissingCapability, match="notes/new@2"):
                await connected.notify(added_spec, params)
    expected = [("/params/logger", "dropped", WHY, "notes-v2", "notes")] if used is SECOND else []
    assert [(loss.pointer, loss.what, loss.why, loss.own, loss.wire) for loss in losses] == expected


def test_a_table_with_both_versions_stands_for_no_other() -> None:
    table = extended_table(mcp.methods.TABLE, (FIRST, SECOND))
    assert isinstance(table, TranslatedVersions)
    assert table.candidates == {"notes": [SECOND, FIRST]}
    assert table.extensions == (FIRST, SECOND)
