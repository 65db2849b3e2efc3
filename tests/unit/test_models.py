"""Models: written by another tool, compared with the IR."""

import ast
from typing import Any

from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.emit.models import ModelsSource, TypeDefiner
from support import tables
from support.unit import schemas
from support.unit.schemas import STRING, record, ref


def emit(**more: Any) -> ModelsSource:
    document = schemas.schema()
    document["$defs"] |= more
    derived = schemas.derive(document)
    return schemas.models_source(derived.ir)


def classes(source: ModelsSource) -> dict[str, str]:
    return {
        node.name: ast.unparse(node)
        for node in ast.parse(source.body).body
        if isinstance(node, ast.ClassDef)
    }


def test_a_name_that_python_reserves_keeps_its_wire_name() -> None:
    written = classes(emit(A=record(**{"list": STRING, "class": STRING, "a/bC": STRING})))["A"]
    assert "list_: Annotated[str | None, Field(alias='list')] = None" in written
    assert "class_: Annotated[str | None, Field(alias='class')] = None" in written
    assert "b_c: Annotated[str | None, Field(alias='a/bC')] = None" in written


def test_members_may_be_called_like_types_and_modules() -> None:
    members = [
        "any",
        "field",
        "literal",
        "date",
        "datetime",
        "typing",
        "pydantic",
        "integer",
        "self",
    ]
    written = classes(emit(A=record(**dict.fromkeys(members, STRING))))["A"]
    for member in members:
        assert f"    {member}: str | None = None" in written


def test_types_that_contain_themselves_are_quoted_and_built_on_first_use() -> None:
    written = emit(Node=record(next=ref("Node"), name=STRING))
    assert "next: 'Node | None' = None" in classes(written)["Node"]
    assert "name: str | None = None" in classes(written)["Node"]
    assert "model_rebuild" not in written.body


def test_aliases_that_contain_themselves_are_spelled_for_type_checkers_and_for_pydantic() -> None:
    tree = {"anyOf": [STRING, {"type": "array", "items": ref("Tree")}]}
    written = emit(Tree=tree, Use=record(tree=ref("Tree")))
    assert (
        'if TYPE_CHECKING:\n    Tree: TypeAlias = "str | list[Tree]"\n'
        'else:\n    Tree = TypeAliasType("Tree", "str | list[Tree]")\n'
    ) in written.body
    assert {"TYPE_CHECKING", "TypeAlias"} <= set(dict(written.imports)["typing"])


def test_an_alias_of_what_is_defined_further_down_is_quoted() -> None:
    late = {"anyOf": [record(late=ref("Late")), {"type": "integer"}]}
    written = emit(Late=late, Sooner=record(late=ref("Late")))
    aliases = [node for node in ast.parse(written.body).body if isinstance(node, ast.Assign)]
    defined = [ast.unparse(node) for node in aliases if "Late" in ast.unparse(node)]
    assert defined == ["Late = TypeAliasType('Late', LateObject | Integer)"]
    assert "late: 'Late | None' = None" in classes(written)["LateObject"]
    assert "Integer" in dict(written.imports)[".._runtime.core.models"]


def test_revisions_do_not_share_types_whose_values_are_merely_equal() -> None:
    definer = TypeDefiner(templates_folder())
    for member, written in (
        ({"const": 1}, "Literal[1]"),
        ({"const": True}, "Literal[True]"),
        ({"type": "number", "minimum": 1}, "ge=1)"),
        ({"type": "number", "minimum": 1.0}, "ge=1.0)"),
    ):
        with tables.case(written):
            document = schemas.schema()
            document["$defs"]["Odd"] = record(x=member)
            defined = definer.define(schemas.derive(document).ir.types)
            assert written in defined["Odd"].text
