"""The text of TypeScript modules, and what their validator says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.names import ClassName, ModuleName
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.ir import AliasIR, ListOf, LiteralOf, OneOf, Ref, Scalar
from mcp_protogen.pipeline.target import LAYERS, Layer, TargetOptions
from mcp_protogen.targets.typescript import TARGET
from mcp_protogen.targets.typescript.text import comment, data, single_quoted
from mcp_protogen.targets.typescript.types import definition, hint
from mcp_protogen.targets.typescript.typescript_tables import types
from support.generating import write_files
from support.revisions import REVISIONS
from support.tables import case
from support.targets import target_modules
from support.targets.typescript import (
    compile_project,
    complaints,
    modules,
    prepare,
    project,
    run,
    write_program,
)
from support.unit import schemas

REVISION = "2026-07-28"
PACKAGE = TargetOptions("typescript", layout="package")


def test_validator_reports_expected_verdicts() -> None:
    said = json.loads(run(compile_project(), "said.mjs"))
    assert said == {
        "the value itself": True,
        "a guard": [True, False],
        "an unknown type": "RangeError: unknown type Tol",
        "a name of Object": "RangeError: unknown type toString",
        "several faults": [
            "/inputSchema is required",
            "/name is not a string",
            "/icons/1/src is required",
        ],
        "an unknown tag": [
            '/type is not "text" or "image" or "audio" or "resource_link" or "resource"'
        ],
        "no tag": ["/type is required"],
        "the closest arm": [
            " is not ElicitRequestFormParams or ElicitRequestURLParams",
            "/elicitationId is required",
        ],
        "arms without members": [" is not a string or an integer"],
        "undefined is absent": ["/name is required"],
        "undefined is no value": ["/1 is not a JSON value"],
        "escapes": ["/a~1b/~0 is not null"],
        "no prototype": [["/__proto__ is required"], []],
        "characters": [[" minLength is 2"], [], [" maxLength is 2"]],
        "integers": ["", "", "", "", *[" is not an integer"] * 4],
        "numbers": ["", *[" is not a number"] * 3],
        "no JSON": [" is not a JSON value"] * 5,
        "holes": [["/0 is not a string"], ["/1 is not a JSON value"]],
        "very deep": ["", *[f"{'/0' * 200} is nested too deeply"] * 2],
        "objects": [" is not an object"] * 3,
        "items": [" maxItems is 1"],
        "bounds": [[" minimum is 0"], [" maximum is 1"]],
        "very many faults": 200_000,
        "at least one": [" has none of a, b"],
    }


@pytest.mark.parametrize(
    "layers", [("models",), ("methods",), ("capabilities",), ("methods", "capabilities")]
)
def test_each_layer_stands_alone(layers: tuple[Layer, ...], tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module"}\n')
    for layout in ("single", "package"):
        options = TargetOptions("typescript", layers, layout)
        files = generate(GenerationOptions((REVISION,), target=options)).files
        write_files(files, tmp_path / layout)
        assert complaints(tmp_path, *(f"{layout}/{file.path}" for file in files)) == []


VARIANTS = {
    "inline objects": TargetOptions("typescript", LAYERS, inline_objects=True),
    "types only": TargetOptions("typescript", LAYERS, types_only=True),
    "single quotes": TargetOptions("typescript", LAYERS, quotes="single"),
    "everything": TargetOptions(
        "typescript", LAYERS, "package", inline_objects=True, types_only=True, quotes="single"
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_passes_a_strict_compiler(variant: str) -> None:
    folder = prepare(target_modules.folder(VARIANTS[variant]))
    assert len(modules(folder)) > len(REVISIONS)
    assert complaints(folder, *modules(folder)) == []


def test_inline_objects_have_no_names_but_the_validator_knows_them() -> None:
    folder = prepare(target_modules.folder(VARIANTS["inline objects"]))
    text = (folder / "v2025_11_25.ts").read_text()
    assert "export interface CompleteRequestParamsArgument" not in text
    assert "\n  argument: {\n" in text and "logging?: object;" in text
    program = """
        import * as mcp from "./v2025_11_25.js";
        export const argument: mcp.Types["CompleteRequestParamsArgument"] = { name: "", value: "" };
        export const open: { [key: string]: unknown } = argument;
        declare const filter: object;
        export const capabilities: mcp.ServerCapabilities = { logging: filter };
        export const read = mcp.parse("ToolAnnotations", {});
    """
    assert complaints(folder, write_program(folder, "inline.ts", program)) == []


def test_types_alone_are_without_the_validator_and_its_tables() -> None:
    options = TargetOptions("typescript", types_only=True)
    (file,) = generate(GenerationOptions((REVISION,), target=options)).files
    text = file.content.decode()
    assert "import " not in text and "AnyCallToolResult" not in text
    assert "export interface Tool " in text and "export interface Types" not in text
    assert "export const INVALID_PARAMS = -32602;" in text


def test_types_alone_are_those_of_the_published_file_and_others_are_corrected() -> None:
    for types_only, schema in ((True, "ToolInputSchema"), (False, "{ [member: string]: unknown }")):
        options = TargetOptions("typescript", types_only=types_only)
        file, *_ = generate(GenerationOptions((REVISION,), target=options)).files
        with case(types_only):
            assert f"  inputSchema: {schema};" in file.content.decode()


def test_member_declared_as_json_value_has_that_type() -> None:
    document = schemas.schema()
    document["$defs"] |= {
        "JSONValue": {
            "anyOf": [
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/JSONValue"}},
                {"type": "array", "items": {"$ref": "#/$defs/JSONValue"}},
                {"type": ["string", "number", "boolean", "null"]},
            ]
        },
        "Anything": {},
        "Holder": {
            "type": "object",
            "properties": {
                "value": {"$ref": "#/$defs/JSONValue"},
                "other": {"$ref": "#/$defs/Anything"},
            },
        },
    }
    options = GenerationOptions(
        ("draft",), {"draft": schemas.schema_file(document)}, target=TargetOptions("typescript")
    )
    for name in ("JSONValue", "Json"):
        own = GivenFile(
            "names.json", json.dumps({"types": {"draft": {"JSONValue": name}}}).encode()
        )
        text = schemas.text_of(generate(options._replace(names=own)), "vdraft.ts")
        text = " ".join(text.split())
        assert f"value?: {name};" in text and "other?: unknown;" in text
        assert f"| {{ [member: string]: {name} }} | {name}[];" in text
        assert "export type Anything = unknown;" in text


def test_table_of_types_names_the_members_that_are_required() -> None:
    shapes = {type_.name: type_.value for type_ in types(schemas.read(schemas.schema()).ir)}
    link: Any = shapes["LinkBlock"]
    assert [*link["members"]] == ["type", "uri", "weight"] and link["required"] == ["type", "uri"]
    capabilities: Any = shapes["ClientCapabilities"]
    assert capabilities["required"] == []


def test_quotes_of_comments_stay() -> None:
    module = '/** Say "no". */ // "it\'s"\nconst a = ["b", "it\'s", "\\"", "//"];\n'
    assert single_quoted(module) == (
        "/** Say \"no\". */ // \"it's\"\nconst a = ['b', 'it\\'s', '\"', '//'];\n"
    )


def test_a_module_is_as_wide_as_a_hundred_columns() -> None:
    for layout in ("single", "package"):
        wide = [
            line
            for path in project(layout).rglob("v2*.ts")
            for line in path.read_text().splitlines()
            if len(line) > 100
        ]
        assert wide == []


def test_no_description_ends_its_comment() -> None:
    assert comment("Not */ yet.") == "/** Not *\\/ yet. */\n"
    assert comment("one\u2028two\u200b") == "/** onetwo */\n"
    assert comment("") == ""
    assert comment("Old. Deprecated.", 2, deprecated=True) == (
        "  /**\n   * Old.\n   *\n   * @deprecated\n   */\n"
    )


def test_data_is_on_one_line_if_it_fits() -> None:
    assert data({"a": [1, True, None, "é"], "b-c": {}}) == (
        '{ a: [1, true, null, "\\u00e9"], "b-c": {} }'
    )
    assert data({"__proto__": 1}) == '{ ["__proto__"]: 1 }'
    long = ["x" * 60, {"y": "z" * 50}]
    assert data(long) == f'[\n  "{"x" * 60}",\n  {{ y: "{"z" * 50}" }},\n]'


def test_types_are_written_as_typescript_has_them() -> None:
    either = OneOf((Scalar("integer"), Scalar("number"), LiteralOf(("a", 1, None))))
    assert hint(either) == 'number | "a" | 1 | null'
    assert hint(ListOf(either)) == '(number | "a" | 1 | null)[]'
    assert hint(ListOf(Ref("A"))) == "A[]"
    alias = AliasIR(
        ClassName("A"), LiteralOf(tuple(f"{'v' * 20}{n}" for n in range(5))), "", "", False
    )
    assert definition(alias).splitlines()[:2] == ["export type A =", f'  | "{"v" * 20}0"']


def test_a_name_that_modules_themselves_need_is_refused() -> None:
    ir = derive_revision(sources.load(REVISION, GenerationOptions((REVISION,)))).ir
    renamed = (replace(ir.types[0], name=ClassName(name)) for name in ("Methods", "METHODS"))
    for changed in (
        *(replace(ir, types=(first, *ir.types[1:])) for first in renamed),
        replace(ir, module=ModuleName("wire")),
    ):
        with pytest.raises(ProblemError) as raised:
            tuple(TARGET.files((changed,), TargetOptions("typescript")))
        assert [problem.code for problem in raised.value.problems] == ["name-collision"]
    inside = TARGET.files((replace(ir, module=ModuleName("wire")),), PACKAGE)
    assert {"wire.ts", "wire/models.ts"} <= {str(file.path) for file in inside}


def test_deprecated_methods_are_struck_through_in_editors() -> None:
    ir = derive_revision(sources.load(REVISION, GenerationOptions((REVISION,)))).ir
    _, file = TARGET.files((ir,), TargetOptions("typescript", layers=("models", "methods")))
    tagged = '@deprecated\n   */\n  "{}": {{\n'
    assert tagged.format("roots/list") in file.text
    assert tagged.format("tools/list") not in file.text


def test_index_exports_folder_that_is_not_an_identifier_by_our_name() -> None:
    ir = derive_revision(sources.load(REVISION, GenerationOptions((REVISION,)))).ir
    files = TARGET.files((replace(ir, module=ModuleName("spec.types-1")),), PACKAGE)
    index = next(file.text for file in files if file.path == "index.ts")
    assert 'export * as v2026_07_28 from "./spec.types-1/index.js";' in index
