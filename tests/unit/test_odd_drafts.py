"""`mcp-gen schema draft-facts` writes only what its `--check` reads, for any names and keys."""

from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.schemas import check, write
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.todo import CHOICES, TODO
from support import missing, tables
from support.generated.schema_folders import pin
from support.unit.pinned_next import NEXT, pin_changed, read_file, write_file
from support.unit.schemas import STRING, record, ref

Json = dict[str, Any]


def add_request(defs: Json, name: str, method: str, **members: Json) -> None:
    envelope = {"id": ref("RequestId"), "jsonrpc": {"const": "2.0", "type": "string"}}
    defs[f"{name}Params"] = record(("_meta",), _meta=ref("RequestMetaObject"), **members)
    of_method = {"const": method, "type": "string"}
    defs[name] = record(
        ("id", "jsonrpc", "method", "params"),
        **envelope,
        method=of_method,
        params=ref(f"{name}Params"),
    )
    defs["ClientRequest"]["anyOf"].append(ref(name))


def bring_odd_names(defs: Json) -> None:
    add_request(defs, "Poll_V2Request", "events/v2.poll-now", **{"x:y": STRING, "3d": STRING})
    add_request(defs, "Do_itRequest", "do_it", a={"type": "string", "enum": ["b", "c"]})
    defs["Poll_V2Result"] = record(
        ("resultType",), _meta=ref("ResultMetaObject"), resultType=STRING, thing=ref("Http2_Thing")
    )
    for name in ("Http2_A", "Http2_B"):
        kind = {"const": f"kind/{name} 2", "type": "string"}
        defs[name] = record(("kind",), kind=kind, v=STRING | {"deprecated": True})
    defs["Http2_Thing"] = {"anyOf": [ref("Http2_A"), ref("Http2_B")]}
    flag = record(v2_on={"type": "boolean"})
    defs["ServerCapabilities"]["properties"]["x-poll2"] = flag
    for name, code in (("Http2Error", -32050), ("ZeroError", 0)):
        members = {"code": {"const": code, "type": "integer"}, "message": STRING}
        defs[name] = record(("code", "message"), **members)
    defs["Http2_Block"] = record(("type",), type={"const": "v/2]", "type": "string"})
    defs["ContentBlock"]["anyOf"].append(ref("Http2_Block"))


def open_codes(schema: Path) -> set[str]:
    report = check(NEXT, schema)
    assert report.files == ()
    return {problem.code for problem in report.problems}


def test_odd_names_are_drafted_as_the_check_reads_them(tmp_path: Path) -> None:
    schema = pin_changed(tmp_path, bring_odd_names)
    assert write(NEXT, schema).problems == ()
    assert open_codes(schema) == {"to-decide"}
    facts = read_file(schema, "facts")
    assert facts["methods"].keys() >= {"events/v2.poll-now", "do_it"}
    assert facts["capabilities"]["server"].keys() >= {"x-poll2", "x-poll2.v2_on"}
    assert {facts["errors"][code]["name"] for code in ("-32050", "0")} == {"HTTP2", "ZERO"}
    places = [at for rule in read_file(schema, "translation")["rules"] for at in rule["at"]]
    assert "ContentBlock[v/2]]" in places


def test_a_name_that_facts_cannot_have_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    schema = pin_changed(tmp_path, lambda defs: add_request(defs, "ShoutRequest", "Shout"))
    with pytest.raises(ProblemError) as caught:
        write(NEXT, schema)
    assert ("bad-form", f"schema/{NEXT}/facts.json", "/methods") in {
        (problem.code, problem.place, problem.pointer) for problem in caught.value.problems
    }
    assert not (schema / NEXT / "facts.json").exists()


META_TYPES: dict[str, tuple[Json, str]] = {
    "io.x/tags": ({"type": "array", "items": STRING}, "string[]"),
    "io.x/map": ({"type": "object", "additionalProperties": STRING}, "string{}"),
    "io.x/lists": (
        {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "integer"}},
        },
        "integer[]{}",
    ),
    "io.x/tools": ({"type": "array", "items": ref("Tool")}, "Tool[]"),
    "io.x/any": ({"type": "array", "items": {}}, "array"),
    "io.x/number": ({"type": "number"}, "number"),
    "io.x/tool": (ref("Tool"), "Tool"),
}


def test_keys_of_metadata_have_any_json_type(tmp_path: Path) -> None:
    def change(defs: Json) -> None:
        members = defs["RequestMetaObject"]["properties"]
        members |= {key: type_ for key, (type_, _) in META_TYPES.items()}

    schema = pin_changed(tmp_path, change)
    write(NEXT, schema)
    facts = read_file(schema, "facts")["meta_keys"]
    assert {key: facts[key]["type"] for key in META_TYPES} == {
        key: text for key, (_, text) in META_TYPES.items()
    }
    assert open_codes(schema) == {"to-decide"}
    ir = derive_revision(sources.load_pinned(NEXT, schema)).ir
    (tools,) = (key for key in ir.meta_keys if key.key == "io.x/tools")
    assert (tools.constant, tools.type, tools.item_type) == ("META_TOOLS", "Tool[]", "Tool")


def test_keys_of_metadata_are_on_types_and_data_of_errors(tmp_path: Path) -> None:
    def change(defs: Json) -> None:
        defs["ToolMeta"] = record(**{"io.x/needs": ref("ClientCapabilities")})
        defs["Tool"]["properties"]["_meta"] = ref("ToolMeta")
        defs["BusyData"] = record(_meta=record(**{"io.x/language": STRING}))
        members = {"code": {"const": -32060, "type": "integer"}, "message": STRING}
        defs["BusyError"] = record(("code", "data"), **members, data=ref("BusyData"))

    schema = pin_changed(tmp_path, change)
    write(NEXT, schema)
    keys = read_file(schema, "facts")["meta_keys"]
    assert (keys["io.x/needs"]["on"], keys["io.x/needs"]["type"]) == (
        ["Tool"],
        "ClientCapabilities",
    )
    assert keys["io.x/language"]["on"] == ["error"]
    assert open_codes(schema) == {"to-decide"}


def test_a_type_of_metadata_that_the_schema_lacks_is_refused(tmp_path: Path) -> None:
    schema = pin_changed(tmp_path, lambda defs: defs["Tool"].update())
    write(NEXT, schema)
    facts = read_file(schema, "facts")
    for fact in ({"on": ["request"], "type": "Gone[]"}, {"on": ["Gone"], "type": "string"}):
        with tables.case(str(fact)):
            key: Json = {**fact, "required": False, "source": "basic/index"}
            write_file(schema, "facts", {**facts, "meta_keys": {"io.x/gone": key}})
            with pytest.raises(ProblemError) as caught:
                derive_revision(sources.load_pinned(NEXT, schema))
            (problem,) = caught.value.problems
            assert (problem.code, problem.message) == ("unknown-type", "there is no type Gone")
            assert problem.pointer == "/meta_keys/io.x~1gone"


def give_tasks(defs: Json) -> None:
    defs["JobResult"] = record(("jobId", "ttlMs"), jobId=STRING, ttlMs={"type": "integer"})
    response = defs["CallToolResultResponse"]["properties"]
    response["result"]["anyOf"].append(ref("JobResult"))


def read_traits(schema: Path) -> Any:
    return read_file(schema, "facts").get("methods", {}).get("tools/call", {}).get("traits")


def test_a_trait_that_may_be_wrong_is_left_to_a_person_whose_decision_stays(tmp_path: Path) -> None:
    schema = pin_changed(tmp_path, give_tasks)
    write(NEXT, schema)
    usual = ["cancellable", "may_require_input"]
    assert read_traits(schema) == {
        "difference": "JobResult shows cacheable, but has no cacheScope",
        CHOICES: [usual, ["cacheable", *usual]],
    }
    at = f"schema/{NEXT}/facts.json#/methods/tools~1call/traits"
    assert at in {problem.where for problem in check(NEXT, schema).problems}
    # Until then, the method is without it.
    (call,) = (
        found
        for found in derive_revision(sources.load_pinned(NEXT, schema)).ir.methods
        if found.method == "tools/call"
    )
    assert call.traits == tuple(usual)
    facts = read_file(schema, "facts")
    for chosen in facts["methods"]["tools/call"]["traits"][CHOICES]:
        with tables.case(str(chosen)):
            facts["methods"]["tools/call"]["traits"] = chosen
            write_file(schema, "facts", facts)
            assert write(NEXT, schema).files == ()
            assert read_traits(schema) == chosen


def answer_another_way(defs: Json) -> None:
    defs["ApproveResult"] = record(("approved",), approved={"type": "boolean"})
    defs["InputResponse"]["anyOf"].append(ref("ApproveResult"))


def test_a_function_for_values_that_a_union_lacked_is_left_to_a_person(tmp_path: Path) -> None:
    schema = pin_changed(tmp_path, answer_another_way)
    write(NEXT, schema)
    document = read_file(schema, "translation")
    (rule,) = document["rules"]
    assert (rule["at"], rule["down"][CHOICES]) == (["InputResponse"], [{"apply": TODO}])
    document["rules"] = [{**rule, "down": rule["down"][CHOICES][0]}]
    write_file(schema, "translation", document)
    assert write(NEXT, schema).files == ()
    (problem,) = (p for p in check(NEXT, schema).problems if p.pointer.endswith("/down/apply"))
    assert (problem.code, "conversions.py" in problem.hint) == ("to-decide", True)


def test_a_draft_of_each_case_is_one_that_the_check_reads(tmp_path: Path) -> None:
    folder = missing.reference("cases/next-revision", "drafts of likely revisions")
    for file in sorted(folder.glob("*.schema.json")):
        with tables.case(file.name):
            schema = pin(tmp_path / file.stem, NEXT, file.read_bytes())
            write(NEXT, schema)
            assert open_codes(schema) <= {"to-decide"}
