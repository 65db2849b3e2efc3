"""Our own data files: of their promised format, complete, and without useless entries."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.descriptions import Descriptions
from mcp_protogen.pipeline.inputs.metacheck import check
from mcp_protogen.pipeline.ir import ObjectIR
from support import formats, tables
from support.revisions import REVISIONS

Json = dict[str, Any]

SCHEMA = schema_folder()
FORMATS = sorted((SCHEMA / "formats").glob("*.schema.json"))
FILES = [
    *((SCHEMA / f"{name}.json", name) for name in ("pins", "descriptions")),
    *(
        (SCHEMA / revision / f"{name}.json", name)
        for revision in REVISIONS
        for name in ("facts", "patches", "translation")
        if (SCHEMA / revision / f"{name}.json").is_file()
    ),
]


def read(path: Path) -> Json:
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document


@cache
def derive(revision: str) -> DerivedRevision:
    return derive_revision(sources.load(revision, GenerationOptions((revision,))))


def test_each_format_is_a_json_schema() -> None:
    for path in FORMATS:
        with tables.case(path.name):
            Draft202012Validator.check_schema(read(path))


def test_each_file_is_of_its_format() -> None:
    for path, name in FILES:
        with tables.case(name):
            assert formats.faults(name, read(path)) == []


def test_a_member_that_the_format_does_not_know_is_refused() -> None:
    for path, name in FILES:
        with tables.case(name):
            misspelt: Json = {**read(path), "misspelt": {}}
            assert formats.faults(name, misspelt)


def test_a_fact_without_its_source_is_refused() -> None:
    facts = read(SCHEMA / REVISIONS[0] / "facts.json")
    assert formats.faults("facts", facts) == []
    for section, key in (("errors", "-32700"), ("unions", "ClientRequest")):
        spoilt = copy.deepcopy(facts)
        del spoilt[section][key]["source"]
        assert formats.faults("facts", spoilt), section


def test_known_values_of_a_type_are_refused_where_only_members_have_them() -> None:
    words = {"ResultType": {"values": ["complete"], "source": "basic/index"}}
    for format in ("facts", "extension-facts"):
        for section, faults in (("enums", 0), ("open_strings", 1)):
            with tables.case((format, section)):
                file = SCHEMA / ("2025-11-25" if format == "facts" else "extensions/tasks")
                document = {**read(file / "facts.json"), section: words}
                assert len(formats.faults(format, document)) == faults


def test_snapshots_are_json_schemas_before_and_after_their_patches() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            source = sources.load_pinned(revision, SCHEMA)
            check(read(SCHEMA / revision / "schema.json"), "snapshot")
            check(source.apply_patches(), "patched")


def _schemas(schema: Any) -> Iterator[Json]:
    if not isinstance(schema, dict):
        return
    keywords = cast("Json", schema)
    yield keywords
    inner = [keywords.get("items"), keywords.get("additionalProperties")]
    for keyword in ("properties", "$defs"):
        inner += keywords.get(keyword, {}).values()
    for keyword in ("anyOf", "allOf", "oneOf"):
        inner += keywords.get(keyword, ())
    for part in inner:
        yield from _schemas(part)


def test_no_object_of_a_format_takes_members_it_does_not_name() -> None:
    for path in FORMATS:
        with tables.case(path.name):
            for schema in _schemas(read(path)):
                if "properties" in schema and schema.get("type") == "object":
                    assert schema.get("additionalProperties") is not None, schema


def test_everything_that_people_look_up_is_described() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            ir = derive(revision).ir
            described = {
                **{f"type {entry.name}": entry.doc for entry in ir.types},
                **{f"method {entry.method}": entry.doc for entry in ir.methods},
                **{f"capability {entry.constant}": entry.doc for entry in ir.capabilities},
                **{f"error {entry.name}": entry.doc for entry in ir.errors},
            }
            assert [what for what, text in described.items() if not text] == []


def test_no_description_is_of_nothing() -> None:
    described = read(SCHEMA / "descriptions.json")
    overrides = described.pop("overrides")
    everything = [described, *overrides.values()]
    used = {kind: set[str]() for kind in described}
    for revision in REVISIONS:
        ir = derive(revision).ir
        used["types"] |= {str(entry.name) for entry in ir.types}
        used["fields"] |= {
            key
            for entry in ir.types
            if isinstance(entry, ObjectIR)
            for field in entry.fields
            for key in (f"{entry.name}.{field.wire}", f"*.{field.wire}")
        }
        used["methods"] |= {entry.method for entry in ir.methods}
        used["capabilities"] |= {".".join((entry.role, *entry.path)) for entry in ir.capabilities}
        used["errors"] |= {str(entry.name) for entry in ir.errors}
    unused = [
        key for texts in everything for kind in texts for key in texts[kind].keys() - used[kind]
    ]
    assert sorted(unused) == []


def test_an_override_says_something_else() -> None:
    described = read(SCHEMA / "descriptions.json")
    overrides = described.pop("overrides")
    plain = Descriptions(described)
    for texts in overrides.values():
        for name, text in texts.get("types", {}).items():
            assert plain.type(name) != text, name
