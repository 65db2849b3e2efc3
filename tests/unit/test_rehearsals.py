"""Proposals for the next revision, as data: each is a schema, and its record is of all of them."""

import json

import pytest
from support.rehearsals.proposals import COMBINATIONS, FOLDER, rehearsals
from support.report import records
from support.report.schema_files import SCHEMA
from support.tables import case
from support.unit import schemas

REHEARSALS = {rehearsal.name: rehearsal for rehearsal in rehearsals()}
KEYS = {"source", "base", "page", "absorbs", "types", "arms", "members", "facts", "rules", "errors"}
KEYS |= {"became", "left_out"}


@pytest.mark.parametrize("name", REHEARSALS)
def test_a_rehearsal_publishes_a_schema_that_can_be_read(name: str) -> None:
    rehearsal = REHEARSALS[name]
    base = json.loads((SCHEMA / rehearsal.base / "schema.json").read_bytes())
    revision = schemas.read(rehearsal.publish(base))
    present = {str(type_.name) for type_ in revision.ir.types}
    for part in rehearsal.parts:
        assert part.get("types", {}).keys() <= present


def test_each_file_says_where_a_proposal_is_and_what_no_format_has() -> None:
    for file in set(FOLDER.glob("*.json")) - {COMBINATIONS}:
        with case(file.name):
            content = json.loads(file.read_bytes())
            assert content["source"]
            assert content.keys() <= KEYS


def test_the_record_is_of_all_rehearsals() -> None:
    recorded = [row["name"] for row in records.read("rehearsals")["rehearsals"]]
    assert recorded == list(REHEARSALS), "run make rehearse"
