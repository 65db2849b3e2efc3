"""The official conformance suite finds in a server behind a gateway what it finds without."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.conformance.judging import faults, read_found
from support.conformance.kit import kit
from support.conformance.legs import LEGS, Leg, running, serving
from support.gateway.gateways import GATEWAY, write_config

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("conformance")]

SERVERS = [leg for leg in LEGS if leg.side == "server" and leg.only is None and leg.topic is None]
QUESTIONS = ["elicitation", "sampling", "roots"]
LOST = "server-sse-polling: "
"""A gateway does not pass on that a server closes the stream of a call."""


@asynccontextmanager
async def serving_behind_gateway(folder: Path) -> AsyncGenerator[str, None]:
    """Serve all fixtures by a gateway without prefix; yield the URL."""
    own = {"prefix": "", "questions": QUESTIONS}
    async with serving() as url:
        config = write_config(folder, {"everything": {"url": url, "x-gateway": own}})
        async with running(*GATEWAY, config, "--http", "PORT") as outer:
            yield outer


@pytest.mark.parametrize("leg", SERVERS, ids=lambda leg: leg.name)
async def test_the_suite_finds_the_same_behind_a_gateway(leg: Leg, tmp_path: Path) -> None:
    async with serving_behind_gateway(tmp_path) as url:
        # A set of requirements has the scenarios of extensions, too.
        required = ("--requirements", leg.held_to)
        await kit().run("server", "--url", url, *required, "-o", tmp_path)
    found = faults(read_found(tmp_path, "server"), leg.scenarios, leg.excuses)
    assert [fault for fault in found if not fault.startswith(LOST)] == []
