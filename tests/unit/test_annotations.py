"""Types as written in a models module."""

from typing import Any

from mcp_protogen.base.names import ClassName, FieldName
from mcp_protogen.pipeline.emit.annotations import (
    annotation,
    field_annotation,
    is_same,
    qualified_annotation,
)
from mcp_protogen.pipeline.ir import (
    Anything,
    FieldIR,
    ListOf,
    LiteralOf,
    MapOf,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
)
from support import tables

TEXT = Scalar("string")
NULL = Scalar("null")


def test_expressions() -> None:
    rows: list[tuple[TypeExpr, str]] = [
        (TEXT, "str"),
        (Scalar("integer"), "Integer"),
        (Scalar("number"), "Number"),
        (Scalar("boolean"), "bool"),
        (NULL, "None"),
        (Anything(), "Any"),
        (Ref(ClassName("Tool")), "Tool"),
        (ListOf(Ref(ClassName("Tool"))), "list[Tool]"),
        (MapOf(Anything()), "dict[str, Any]"),
        (LiteralOf(("a", 'b"', 2)), 'Literal["a", \'b"\', 2]'),
        (LiteralOf((1, "a")), 'Annotated[Literal[1, "a"], Exact]'),
        (OneOf((TEXT, Scalar("integer"))), "str | Integer"),
        (OneOf((NULL, TEXT)), "str | None"),
        (OneOf((OneOf((TEXT, NULL)), Scalar("boolean"), TEXT)), "str | bool | None"),
        (ListOf(OneOf((NULL, TEXT))), "list[str | None]"),
    ]
    for expression, expected in rows:
        with tables.case(expression):
            assert annotation(expression) == expected


def test_expressions_elsewhere_need_no_import_but_that_of_the_models() -> None:
    rows: list[tuple[TypeExpr, str]] = [
        (TEXT, "str"),
        (Scalar("integer"), "int"),
        (Scalar("number"), "int | float"),
        (Anything(), "Any"),
        (Ref(ClassName("Tool")), "m.Tool"),
        (ListOf(Ref(ClassName("Tool"))), "list[m.Tool]"),
        (MapOf(Scalar("number")), "dict[str, int | float]"),
        (LiteralOf(("a", 1, None, "b")), "str | int | None"),
        (OneOf((NULL, Ref(ClassName("Tool")), TEXT)), "m.Tool | str | None"),
    ]
    for expression, expected in rows:
        with tables.case(expression):
            assert qualified_annotation(expression) == expected


def field(type_: TypeExpr = TEXT, **changes: Any) -> FieldIR:
    said: dict[str, Any] = {
        "wire": "x",
        "name": FieldName("x"),
        "required": True,
        "nullable": False,
    }
    said |= {"default": None, "constraints": (), "known_values": (), "doc": "", "deprecated": False}
    return FieldIR(type=type_, **(said | changes))


def test_members() -> None:
    rows: list[tuple[FieldIR, str]] = [
        (field(), "str"),
        (field(required=False), "str | None"),
        (field(OneOf((TEXT, NULL)), nullable=True), "str | None"),
        (
            field(OneOf((TEXT, NULL)), nullable=True, required=False),
            "Annotated[str | None, Nullable]",
        ),
        (
            field(Ref(ClassName("N")), nullable=True, required=False),
            "Annotated[N | None, Nullable]",
        ),
        (field(Anything(), nullable=True, required=False), "Any"),
        (field(wire="xY"), 'Annotated[str, Field(alias="xY")]'),
        (field(LiteralOf((True,)), default=True), "Annotated[Literal[True], Exact]"),
        (field(LiteralOf((True,)), wire="y"), 'Annotated[Literal[True], Exact, Field(alias="y")]'),
        (field(LiteralOf((0,)), required=False), "Annotated[Literal[0], Exact] | None"),
        (field(NULL, required=False, nullable=True), "Annotated[None, Nullable]"),
        (
            field(Scalar("number"), required=False, constraints=(("minimum", 0), ("maximum", 1))),
            "Annotated[Number | None, Field(ge=0, le=1)]",
        ),
        (
            field(ListOf(TEXT), wire="y", constraints=(("minItems", 1),)),
            'Annotated[list[str], Field(alias="y", min_length=1)]',
        ),
    ]
    for member, expected in rows:
        with tables.case((member, expected)):
            assert field_annotation(member) == expected


def test_annotations_are_compared_as_expressions() -> None:
    for left, right, equal in (
        ("list[str]", "list[ str ]", True),
        ("Literal['a']", 'Literal["a"]', True),
        ("Field(ge=0, le=1)", "Field(le=1, ge=0)", True),
        ("'Node | None'", "Node | None", True),
        ("str | None", "None | str", False),
        ("Field(ge=0)", "Field(gt=0)", False),
        ("Literal[1]", "Literal[True]", False),
    ):
        with tables.case(left):
            assert is_same(left, right) is equal
