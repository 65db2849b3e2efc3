"""Models are divided by the features that carry them, and import each other in one direction."""

import ast
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import Any

import pytest
from mcp_protogen.base.names import ClassName
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.model_modules import feature_of, model_modules
from mcp_protogen.pipeline.ir import RevisionIR
from support import tables
from support.unit import schemas


@pytest.fixture(scope="module")
def ir() -> RevisionIR:
    return schemas.derive(schemas.schema()).ir


def _module_names(ir: RevisionIR) -> dict[str, set[str]]:
    return {
        module: {str(type_.name) for type_ in types} for module, types in model_modules(ir).items()
    }


def _with_methods(ir: RevisionIR, **names: str) -> RevisionIR:
    """The revision with other names of its methods, by their stems."""
    methods = (
        replace(method, method=names.get(method.stem, method.method)) for method in ir.methods
    )
    return replace(ir, methods=tuple(methods))


def test_a_method_without_a_slash_belongs_to_its_capability(ir: RevisionIR) -> None:
    (log,) = (method for method in ir.methods if method.method == "notifications/log")
    (say,) = (method for method in ir.methods if method.method == "echo/say")
    assert feature_of(replace(log, requires=say.requires)) == "echo"
    assert feature_of(replace(log, requires=())) == "base protocol"
    assert feature_of(replace(log, method="notifications/tools/list_changed")) == "tools"


def test_every_feature_has_a_module_that_can_be_imported(ir: RevisionIR) -> None:
    for feature, module in (
        ("import", "import_"),
        ("camelCase", "camel_case"),
        ("x-vendor.thing", "x_vendor_thing"),
        ("3d", "d"),
        ("…", "base"),
        ("__init__", "init"),
        ("base", "base"),
        ("shared", "shared_"),
        ("messages", "messages_"),
    ):
        with tables.case(feature):
            modules = _module_names(_with_methods(ir, say=f"{feature}/say"))
            assert "SayRequestParams" in modules[module]
            ast.parse(f"from .{module} import x")


def test_features_with_one_module_share_nothing(ir: RevisionIR) -> None:
    both = _module_names(_with_methods(ir, say="a-b/say", ask="a_b/ask"))
    assert {"SayRequestParams", "AskRequestParams"} <= both["a_b"]
    assert {"SayResult", "AskResult"} <= both["a_b_results"]


def test_a_request_inside_a_result_is_with_results_and_its_answer_with_params(
    ir: RevisionIR,
) -> None:
    methods = (
        replace(method, kind="embedded" if method.stem == "ask" else method.kind)
        for method in ir.methods
    )
    modules = _module_names(replace(ir, methods=tuple(methods)))
    assert modules["user"] == {"AskResult"}
    assert modules["user_results"] == {"AskRequestParams"}


def test_type_of_several_features_is_shared_by_params_or_by_results_or_by_both(
    ir: RevisionIR,
) -> None:
    def where_block_is(**more: Any) -> str:
        methods = (
            replace(method, **more) if method.stem == "ask" else method for method in ir.methods
        )
        names = _module_names(replace(ir, methods=tuple(methods)))
        return next(module for module in names if "TextBlock" in names[module])

    assert where_block_is(results=("SayResult",)) == "shared_results"
    assert where_block_is(params="SayResult") == "shared"
    assert where_block_is(params="SayResult", method="echo/ask") == "echo"


def test_modules_import_each_other_in_one_direction() -> None:
    document = schemas.schema()
    document["$defs"]["ServerResult"] = schemas.union("SayResult", "AskResult")
    ir = schemas.derive(document).ir
    for feature in ("echo", "messages", "shared"):
        with tables.case(feature):
            # Params and results share a type, and whole messages refer to both.
            methods = [
                replace(method, method=f"{feature}/{method.stem}", params=ClassName("TextBlock"))
                for method in ir.methods
            ]
            modules = _module_names(replace(ir, methods=tuple(methods)))
            place = {name: module for module, names in modules.items() for name in names}
            imports = {module: set[str]() for module in modules}
            for user, names in recursion.graph_of(ir.types).items():
                imports[place[user]] |= {place[name] for name in names} - {place[user]}
            TopologicalSorter(imports).prepare()


def test_a_revision_without_methods_has_messages_only(ir: RevisionIR) -> None:
    assert _module_names(replace(ir, methods=())).keys() == {"messages"}
    assert model_modules(replace(ir, methods=(), types=())) == {}
