"""The report agrees with its records and the code, and the records with the pins."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.pipeline.inputs.pins import load_pins
from support.conformance.legs import LEGS
from support.folders import TESTS
from support.json_types import read_json
from support.made_once import vectors_once
from support.report import records
from support.report.adoption import as_before
from support.report.page import PAGE, TARGETS, page
from support.report.peers import PEERS, peer_of, side_of, version
from support.report.schema_files import SCHEMA
from support.report.unclear import KINDS
from support.revisions import REVISIONS
from support.tables import case

Json = dict[str, Any]

PLACES: Final[list[Json]] = records.read("unclear")["places"]


@pytest.mark.long
def test_the_page_is_what_the_records_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.report.layers.make", vectors_once)
    assert PAGE.read_text(encoding="utf-8") == page(), "run make report"


def test_each_record_is_needed_and_one_that_is_missing_says_what_writes_it(tmp_path: Path) -> None:
    for name, what in records.MADE_BY.items():
        with case(name):
            folder = tmp_path / name
            shutil.copytree(records.FOLDER, folder)
            (folder / f"{name}.json").unlink()
            with pytest.raises(SystemExit, match=what):
                page(folder)


def test_the_records_are_of_the_suite_and_the_peers_that_are_pinned() -> None:
    suite = records.read("conformance")
    pinned = json.loads((TESTS / "conformance" / "package.json").read_bytes())
    assert suite["suite"] == pinned["dependencies"], "run make conformance"
    ran = [(leg["side"], leg["held_to"], leg["speaks"], leg["topic"]) for leg in suite["legs"]]
    assert ran == [(leg.side, leg.held_to, leg.only, leg.topic) for leg in LEGS]
    talked = {(package["name"], package["version"]) for package in records.read("peers")["peers"]}
    assert talked == {(peer.name, version(peer)) for peer in PEERS}, "run make records"
    assert records.read("targets")["targets"].keys() == TARGETS.keys(), "run make records"
    assert set(REVISIONS) <= records.read("differential")["verdicts"].keys(), "run make records"


def test_a_test_is_of_the_peer_that_its_name_has() -> None:
    for test, peer, side in (
        (
            "test_foreign_clients::test_visits[TypeScript 2]",
            "TypeScript SDK, generation 2",
            "client",
        ),
        (
            "test_foreign_clients::test_the_python_sdk_of_generation_1[x]",
            "Python SDK, generation 1",
            "client",
        ),
        (
            "test_foreign_servers::test_the_python_sdk_of_generation_2[x]",
            "Python SDK, generation 2",
            "server",
        ),
        ("test_http_reference_server::test_it", "reference server", "server"),
    ):
        with case(test):
            found = peer_of(test)
            assert (found and found.name, side_of(test)) == (peer, side)
    assert peer_of("test_matrix::test_the_page_shows_what_was_found") is None
    with pytest.raises(LookupError, match="add it to PEERS"):
        peer_of("test_new::test_of_somebody")


def test_unclear_places_name_source_and_test_of_choice() -> None:
    pins = load_pins(SCHEMA).keys()
    assert len({place["id"] for place in PLACES}) == len(PLACES)
    for place in PLACES:
        with case(place["id"]):
            assert place["kind"] in KINDS
            assert {*place["revisions"]} <= pins
            assert place["where"]
            assert all(place[text] for text in ("brief", "fix", "unclear", "settles"))
            assert bool(place["ours"]) == bool(place["shown_by"] or place["recorded_in"])
            for test in place["shown_by"]:
                file, _, name = test.partition("::")
                assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
            for fact in place["recorded_in"]:
                file, _, pointer = fact.partition("#")
                jsonpointer.get(read_json(SCHEMA / file), pointer)


def test_proposed_helps_name_listed_places() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("Most helpful")[2].partition("##")[0]
    named = {*re.findall(r"\(#([a-z-]+)\)", text)}
    assert len(named) > 5
    assert named <= {place["id"] for place in PLACES}


def test_a_revision_is_drafted_without_what_came_after_it(tmp_path: Path) -> None:
    as_before("2025-06-18", tmp_path / "schema")
    assert [*load_pins(tmp_path / "schema")] == ["2024-11-05", "2025-03-26", "2025-06-18"]
    assert [file.name for file in (tmp_path / "schema" / "2025-06-18").iterdir()] == ["schema.json"]
    texts = read_json(tmp_path / "schema" / "descriptions.json")
    assert "tools/call" in texts["methods"]
    assert "elicitation/create" not in texts["methods"]
    assert (
        "removed"
        not in read_json(tmp_path / "schema" / "2024-11-05" / "facts.json")["methods"]["ping"]
    )
