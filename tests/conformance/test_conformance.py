"""The official conformance suite finds nothing wrong, and its page has the results."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from support import tables
from support.conformance.kit import kit, list_scenarios
from support.conformance.legs import (
    LEGS,
    Leg,
    Serve,
    serving,
    serving_by_several,
    serving_of_the_official_sdk,
)
from support.conformance.scenarios import OTHERS
from support.conformance.suite import PAGE, record_of, run

from releasing.conformance import row

# In parallel they would keep each other from answering in time.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("conformance")]

SERVERS = [leg for leg in LEGS if leg.side == "server" and leg.only is None]
CLIENTS = [leg for leg in LEGS if leg.side == "client"]
RESTRICTED = [leg for leg in LEGS if leg.only is not None]


@pytest.mark.parametrize("leg", SERVERS, ids=lambda leg: leg.name)
def test_the_suite_finds_nothing_wrong_with_a_server(leg: Leg, tmp_path: Path) -> None:
    assert_sound(leg, tmp_path)


# The suite and a client are started for each scenario of such a leg.
@pytest.mark.sampled(5)
@pytest.mark.parametrize("leg", CLIENTS, ids=lambda leg: leg.name)
def test_the_suite_finds_nothing_wrong_with_a_client(leg: Leg, tmp_path: Path) -> None:
    assert_sound(part_of(leg, 2), tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("leg", SERVERS, ids=lambda leg: leg.name)
def test_the_suite_finds_the_same_where_several_processes_serve(leg: Leg, tmp_path: Path) -> None:
    assert_sound(leg, tmp_path, serving_by_several)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("leg", RESTRICTED, ids=lambda leg: leg.name)
def test_the_suite_finds_nothing_wrong_with_a_server_of_one_old_revision(
    leg: Leg, tmp_path: Path
) -> None:
    assert_sound(part_of(leg, 5), tmp_path)


def test_the_official_python_sdk_has_no_tasks_for_the_suite_to_find(tmp_path: Path) -> None:
    tasks = [scenario for scenario in SERVERS[0].scenarios if scenario.startswith("tasks-")]
    assert len(tasks) == 9
    few = tables.some(tasks, 1, "tasks of the official SDK")
    leg = Leg("server", "2026-07-28", topic="tasks", some=tuple(few))
    (result,) = asyncio.run(run([leg], kit(), tmp_path, serving_of_the_official_sdk))
    assert {fault.partition(":")[0] for fault in result.faults} == {*few}


def test_every_scenario_that_the_suite_lists_is_played_or_is_named_as_not_ours() -> None:
    played = {scenario for leg in LEGS for scenario in leg.scenarios}
    others = [name for _, name, _ in list_scenarios() if name not in played]
    assert all(name.startswith(OTHERS) for name in others), others


def part_of(leg: Leg, few: int) -> Leg:
    """Return a leg with a few of its scenarios, or with `--all` unchanged."""
    scenarios = tables.some(leg.scenarios, few, leg.name)
    if len(scenarios) == len(leg.scenarios):
        return leg
    excuses = {name: why for name, why in leg.excuses.items() if name in scenarios}
    return replace(leg, some=tuple(scenarios), excuses=excuses)


def assert_sound(leg: Leg, tmp_path: Path, serve: Serve = serving) -> None:
    """Check that a leg finds nothing wrong and, if it is whole, that the page has its row."""
    (result,) = asyncio.run(run([leg], kit(), tmp_path, serve))
    assert not result.faults, "\n".join(result.faults)
    shown = leg not in LEGS or row(record_of(result)) in PAGE.read_text(encoding="utf-8")
    assert shown, "run make conformance"
