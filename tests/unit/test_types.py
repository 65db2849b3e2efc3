"""Types of the IR: members, unions and aliases as the normalised schema has them."""

from typing import Any

from mcp_protogen.pipeline.derive.types import expression
from mcp_protogen.pipeline.inputs.descriptions import add_deprecation
from mcp_protogen.pipeline.ir import Anything, FieldIR, ListOf, ObjectIR, OneOf, Scalar, TypeIR
from support import tables
from support.unit import schemas
from support.unit.schemas import STRING, Json, record, ref


def types(**more: Any) -> dict[str, TypeIR]:
    document = schemas.schema()
    document["$defs"] |= more
    stated = schemas.facts()
    stated["types"]["deprecated"] = {"Mode": {}, "SayResult.nextCursor": {}}
    return {str(type_.name): type_ for type_ in schemas.derive(document, stated).ir.types}


def fields(type_: TypeIR) -> dict[str, FieldIR]:
    assert isinstance(type_, ObjectIR)
    return {field.wire: field for field in type_.fields}


def test_a_constant_that_is_required_is_filled_in() -> None:
    kind = fields(types()["LinkBlock"])["type"]
    assert (kind.required, kind.default) == (True, "link")
    optional = fields(types(A=record(x={"const": "c"}))["A"])["x"]
    assert (optional.required, optional.default) == (False, None)


def test_null_is_allowed_directly_or_by_name() -> None:
    null = {"type": ["string", "null"]}
    found = types(N=null, M=ref("N"), A=record(n=ref("N"), m=ref("M"), t=ref("Token"), any={}))
    assert {wire: field.nullable for wire, field in fields(found["A"]).items()} == {
        "n": True,
        "m": True,
        "t": False,
        "any": True,
    }
    assert fields(found["AskResult"])["answer"].nullable


def test_array_without_items_has_any_and_one_of_several_kinds_has_its_own() -> None:
    assert expression({"type": "array"}) == ListOf(Anything())
    both = {"type": ["array", "null"], "items": STRING}
    assert expression(both) == OneOf((ListOf(Scalar("string")), Scalar("null")))


def test_open_types_are_said_by_the_facts() -> None:
    result, text = types()["Result"], types()["TextBlock"]
    assert isinstance(result, ObjectIR) and isinstance(text, ObjectIR)
    assert result.open and not text.open


def test_metadata_that_several_types_share_is_open_if_it_is_open_in_one_of_them() -> None:
    inline = record(token=STRING)
    opened: Json = {**inline, "additionalProperties": {}}
    found = types(Base=record(_meta=inline), SomeBase=record(_meta=opened))
    shared = found["BaseMeta"]
    assert isinstance(shared, ObjectIR) and shared.open
    assert "SomeBaseMeta" not in found


def test_a_text_says_once_that_its_subject_is_deprecated() -> None:
    for text, deprecated, expected in (
        ("A.", False, "A."),
        ("A.", True, "A. Deprecated."),
        ("Deprecated: A.", True, "Deprecated: A."),
    ):
        with tables.case(expected):
            assert add_deprecation(text, deprecated) == expected


def test_a_required_kind_of_result_is_filled_with_its_usual_value() -> None:
    document = schemas.schema()
    for name in ("Result", "SayResult"):
        document["$defs"][name]["properties"]["resultType"] = STRING
    document["$defs"]["SayResult"]["required"].append("resultType")
    stated = schemas.facts()
    stated["rules"]["result_type"] = {
        "member": "resultType",
        "absent": "complete",
        "values": ["complete"],
    }
    found = {str(t.name): t for t in schemas.derive(document, stated).ir.types}
    assert fields(found["SayResult"])["resultType"].default == "complete"
