"""Proposals for the next revision, as data: each is a schema, and its record is of all of them."""

import json

import pytest
from mcp_protogen.pipeline.derive.extended_revision import extend_revision
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.sources import load_pinned
from support import missing
from support.rehearsals.proposals import COMBINATIONS, FOLDER, publish_extension, rehearsals
from support.report import records
from support.report.schema_files import SCHEMA
from support.tables import case
from support.unit import schemas

REHEARSALS = {rehearsal.name: rehearsal for rehearsal in rehearsals()}
KEYS = {
    *("source", "base", "page", "absorbs", "extensions", "types", "arms", "members", "facts"),
    *("rules", "errors", "became", "split", "modules", "left_out"),
}
# Three forms of settings exclude each other, and an open union of notifications has no format.
LEFT_OUT = {
    "ClientExtensionSettingsA",
    "ExtensionSettingsC",
    "ServerExtensionSettingsA",
    "SubscriptionDeniedErrorData",
    "SubscriptionLifecycleParamsBase",
    "TasksExtensionSettingsB",
}


@pytest.mark.parametrize("name", REHEARSALS)
def test_a_rehearsal_publishes_a_schema_that_can_be_read(name: str) -> None:
    rehearsal = REHEARSALS[name]
    base = json.loads((SCHEMA / rehearsal.base / "schema.json").read_bytes())
    revision = schemas.read(rehearsal.publish(base))
    present = {str(type_.name) for type_ in revision.ir.types}
    for part in rehearsal.parts:
        assert part.get("types", {}).keys() <= present


@pytest.mark.parametrize("name", [name for name in REHEARSALS if REHEARSALS[name].extensions()])
def test_a_rehearsed_extension_has_messages_of_its_methods(name: str) -> None:
    rehearsal = REHEARSALS[name]
    for extension, change in rehearsal.extensions().items():
        schema, facts = publish_extension(SCHEMA / "extensions" / extension, change)
        source = ExtensionSource(extension, schema, facts, (), "schema", "patches", "facts")
        extended = extend_revision(source, load_pinned(rehearsal.base, SCHEMA))
        methods = {method.method: method for method in extended.derived.ir.methods}
        for method, fact in change["facts"].get("methods", {}).items():
            with case(method):
                assert str(methods[method].params) == fact["params"]


def test_each_type_of_a_proposal_is_rehearsed() -> None:
    folder = missing.reference("cases/next-revision/proposals", "that each proposal is rehearsed")
    (base,) = {rehearsal.base for rehearsal in REHEARSALS.values()}
    pinned = (SCHEMA / base / "schema.json", *SCHEMA.glob("extensions/*/schema.json"))
    known = {name for file in pinned for name in json.loads(file.read_bytes())["$defs"]}
    for rehearsal in REHEARSALS.values():
        for part in (*rehearsal.parts, *rehearsal.extensions().values()):
            known |= {*part.get("types", {})}
    proposed = {
        name
        for file in folder.glob("*.json")
        for name in json.loads(file.read_bytes()).get("$defs", {})
    }
    assert proposed - known <= LEFT_OUT


def test_each_file_says_where_a_proposal_is_and_what_no_format_has() -> None:
    for file in set(FOLDER.glob("*.json")) - {COMBINATIONS}:
        with case(file.name):
            content = json.loads(file.read_bytes())
            assert content["source"]
            assert content.keys() <= KEYS


def test_the_record_is_of_all_rehearsals() -> None:
    recorded = [row["name"] for row in records.read("rehearsals")["rehearsals"]]
    assert recorded == list(REHEARSALS), "run make rehearse"
