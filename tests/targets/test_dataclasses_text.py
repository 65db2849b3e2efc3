"""The text of classes that the target `dataclasses` makes, and of their errors."""

from dataclasses import replace
from typing import Any, ForwardRef

from mcp_protogen.base.names import ClassName, FieldName
from mcp_protogen.pipeline.ir import (
    AliasIR,
    Anything,
    FieldIR,
    Filled,
    Json,
    ListOf,
    MapOf,
    ObjectIR,
    Ref,
    Scalar,
    TypeExpr,
)
from mcp_protogen.pipeline.target import TargetOptions
from mcp_protogen.targets.dataclasses import TARGET
from mcp_protogen.targets.dataclasses.wire.objects import WireError
from mcp_protogen.targets.python.aliases import alias_text
from mcp_protogen.targets.python.docstrings import type_docstring
from support.tables import case
from support.unit import schemas


def member(
    type_: TypeExpr,
    default: Json | Filled = None,
    *,
    required: bool = False,
    nullable: bool = False,
) -> FieldIR:
    return FieldIR("ttl", FieldName("ttl"), type_, required, default, nullable, (), (), "", False)


def test_attribute_has_the_value_for_a_member_that_is_not_given() -> None:
    ir = schemas.read(schemas.schema()).ir
    found = next(type_ for type_ in ir.types if isinstance(type_, ObjectIR) and not type_.base)
    integer, mapping = Scalar("integer"), MapOf(Scalar("string"))
    for field, text in (
        (member(integer, required=True), "ttl: int"),
        (member(integer), "ttl: int | None = None"),
        (member(integer, nullable=True), "ttl: int | Absent | None = ABSENT"),
        (member(Anything()), "ttl: Any = ABSENT"),
        (member(integer, 7, required=True), "ttl: int = 7"),
        (member(integer, 0, required=True), "ttl: int = 0"),
        (member(Scalar("string"), "a", required=True), 'ttl: str = "a"'),
        (member(Scalar("boolean"), False, required=True), "ttl: bool = False"),
        (
            member(mapping, Filled(), required=True),
            "ttl: dict[str, str] = field(default_factory=dict[str, str])",
        ),
    ):
        with case(text):
            types = (
                replace(found, fields=(field,)),
                *(type_ for type_ in ir.types if type_ != found),
            )
            (file,) = TARGET.files((replace(ir, types=types),), TargetOptions("dataclasses"))
            assert f"\n    {text}\n" in file.text


def test_description_of_a_type_is_indented_as_the_code_around_it() -> None:
    ir = schemas.read(schemas.schema()).ir
    found = next(type_ for type_ in ir.types if isinstance(type_, ObjectIR))
    alias = AliasIR(ClassName("Tree"), Scalar("string"), "", "One.\n\nTwo.", False)
    described = replace(found, doc="One.\n\nTwo.")
    assert type_docstring(described) == '"""One.\n\n    Two.\n    """'
    assert type_docstring(alias) == '"""One.\n\nTwo.\n"""'
    assert type_docstring(replace(found, doc="")) == ""


def test_alias_that_contains_itself_is_a_reference_to_resolve_when_a_program_runs() -> None:
    tree = AliasIR(ClassName("Tree"), ListOf(Ref("Tree")), "", "", False)
    namespace: dict[str, Any] = {"__name__": __name__}
    exec("from typing import *\n" + alias_text(tree, lazy=True), namespace)
    assert namespace["Tree"] == ForwardRef("list[Tree]", module=__name__)


def test_error_is_written_with_its_pointer_unless_it_is_about_the_whole_value() -> None:
    error = WireError("a string is expected")
    assert (error.pointer, str(error)) == ("", "a string is expected")
    error.steps += ["a/b~c", 0]
    assert (error.pointer, str(error)) == ("/0/a~1b~0c", "/0/a~1b~0c: a string is expected")
