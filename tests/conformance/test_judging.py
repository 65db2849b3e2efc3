"""The runner is stricter than the suite: warnings and scenarios without checks are faults."""

import json
from pathlib import Path

import pytest
from support.conformance.judging import Check, faults, read_found
from support.conformance.scenarios import Excuse

GOOD = Check("a", "SUCCESS", "")
STAMP = "2026-11-21T10-02-36-129Z"


def test_expected_results_are_not_faults() -> None:
    noted = Check("b", "INFO", "")
    assert not list(faults({"ping": (GOOD, noted)}, ["ping"], {}))


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_failure_and_a_warning_are_faults_beside_any_success(status: str) -> None:
    bad = Check("b", status, "no answer")
    assert list(faults({"ping": (GOOD, bad)}, ["ping"], {})) == [f"ping: {status} b: no answer"]


@pytest.mark.parametrize("checks", [(), (Check("a", "SKIPPED", ""), Check("b", "INFO", ""))])
def test_a_scenario_in_which_nothing_was_found_good_is_a_fault(checks: tuple[Check, ...]) -> None:
    (fault,) = faults({"ping": checks}, ["ping"], {})
    assert fault.startswith("ping: nothing")


def test_a_scenario_that_was_not_played_is_a_fault() -> None:
    assert list(faults({}, ["ping"], {})) == ["ping: was not played"]


def test_a_scenario_that_nobody_has_thought_of_is_a_fault() -> None:
    found = {"ping": (GOOD,), "pong": (GOOD,), "authorization-server": ()}
    assert list(faults(found, ["ping"], {})) == ["pong: is new to scenarios.py"]


EXCUSES = {"ping": Excuse("nobody knows it", ("ping-",))}


def test_excuse_applies_to_its_own_checks_only() -> None:
    excused = Check("ping-pong", "FAILURE", "")
    assert not list(faults({"ping": (GOOD, excused)}, ["ping"], EXCUSES))
    other = Check("schema", "FAILURE", "null")
    found = {"ping": (GOOD, excused, other)}
    assert list(faults(found, ["ping"], EXCUSES)) == ["ping: FAILURE schema: null"]


def test_excuse_applies_where_nothing_was_checked() -> None:
    assert not list(faults({"ping": ()}, ["ping"], EXCUSES))


def test_an_excuse_for_what_can_be_passed_is_a_fault() -> None:
    (fault,) = faults({"ping": (GOOD,)}, ["ping"], EXCUSES)
    assert fault.startswith("ping: can be passed")


@pytest.mark.parametrize(
    ("side", "folder", "scenario"),
    [
        ("server", f"server-server-initialize-{STAMP}", "server-initialize"),
        ("client", f"tools_call-{STAMP}", "tools_call"),
        ("client", f"auth/metadata-default-{STAMP}", "auth/metadata-default"),
    ],
)
def test_scenarios_are_found_where_the_suite_writes_them(
    side: str, folder: str, scenario: str, tmp_path: Path
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    written = [{"id": "a", "status": "SUCCESS"}]
    (tmp_path / folder / "checks.json").write_text(json.dumps(written))
    assert read_found(tmp_path, side) == {scenario: (GOOD,)}
