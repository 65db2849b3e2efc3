"""Message models: datamodel-code-generator on the normalised schema, then proof that it obeyed.

The class bodies come from there, through two small templates of ours. The head of the module is
ours alone: which names it imports follows from which names the bodies use.
"""

import ast
import json
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_protogen.derive import recursion
from mcp_protogen.emit import text
from mcp_protogen.emit.annotations import default_text, field_annotation, markers
from mcp_protogen.ir import FieldIR, ObjectIR, RevisionIR, UnionIR
from mcp_protogen.jsonvalue import is_array

Json = dict[str, Any]

# Where the names that class bodies may use come from, in the order of import lines.
_IMPORTS: tuple[tuple[str, frozenset[str]], ...] = (
    ("typing", frozenset({"Annotated", "Any", "ClassVar", "Literal"})),
    ("pydantic", frozenset({"Field"})),
    ("typing_extensions", frozenset({"TypeAliasType"})),
    (
        ".._runtime.wire",
        frozenset(
            {"Implied", "Integer", "Nullable", "Number", "OpenUnion"}
            | {"SUPPLIED", "UnknownContent", "WireModel"}
        ),
    ),
)
_RUNTIME = "mcp_protogen.runtime.wire"


@dataclass(frozen=True, slots=True)
class ModelsSource:
    """The parts of a models module: what to import, and the definitions."""

    imports: tuple[tuple[str, tuple[str, ...]], ...]
    body: str


def emit(ir: RevisionIR, schema: Json, templates: Path) -> ModelsSource:
    """Python source for every type of `ir`, written from the normalised `schema`."""
    body = _definitions(
        _generate(_decorated(schema, recursion.circular(ir.types)), ir, templates / "models")
    )
    used = set(_used(ast.parse(body)))
    imports = tuple(
        (module, tuple(sorted(used & provided))) for module, provided in _IMPORTS if used & provided
    )
    return ModelsSource(imports, body)


def _used(tree: ast.AST) -> Iterator[str]:
    """The names in a tree and in its quoted annotations."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                yield name
            case ast.AnnAssign(annotation=ast.Constant(value=str(quoted))):
                yield from _used(ast.parse(quoted))
            case _:
                pass


def _generate(schema: Json, ir: RevisionIR, templates: Path) -> str:
    from datamodel_code_generator import InputFileType, LiteralType, generate
    from datamodel_code_generator.enums import DataModelType
    from datamodel_code_generator.format import PythonVersion

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = generate(
            json.dumps(schema),
            input_file_type=InputFileType.JsonSchema,
            output_model_type=DataModelType.PydanticV2BaseModel,
            target_python_version=PythonVersion.PY_311,
            base_class=f"{_RUNTIME}.WireModel",
            custom_template_dir=templates,
            extra_template_data=_template_data(ir),
            aliases=_aliases(ir),
            custom_class_name_generator=str,  # names are ours, and safe
            formatters=[],
            disable_timestamp=True,
            disable_future_imports=True,
            enum_field_as_literal=LiteralType.All,
            extra_fields=None,
            field_constraints=True,
            remove_special_field_name_prefix=True,
            skip_root_model=True,
            snake_case_field=True,
            use_annotated=True,
            use_double_quotes=True,
            use_standard_collections=True,
            use_type_alias=True,
            use_union_operator=True,
        )
    assert isinstance(result, str), "without an output path the source is returned"
    return result


def _decorated(schema: Json, circular: frozenset[str]) -> Json:
    """The schema as datamodel-code-generator should read it: our numbers, our unknown content.

    In a circle, classes come before aliases, whose right-hand sides Python evaluates at once.
    """

    def rank(name: str) -> int:
        return (1 if "properties" in schema["$defs"][name] else 2) if name in circular else 0

    ordered = sorted(schema["$defs"], key=rank)
    definitions = {name: _decorate(schema["$defs"][name]) for name in ordered}
    return {"$schema": schema["$schema"], "$defs": definitions}


def _decorate(schema: Json) -> Json:
    done: Json = {}
    for key, value in schema.items():
        match key:
            case "properties":
                done[key] = {name: _decorate(member) for name, member in value.items()}
            case "items" | "additionalProperties":
                done[key] = _decorate(value)
            case "anyOf":
                done[key] = [_decorate(arm) for arm in value]
            case "x-open" | "x-any-of-required" | "format":
                pass  # ours, or (format) an annotation that is never asserted
            case _:
                done[key] = value
    if schema.get("x-open"):
        del done["discriminator"]
        done["anyOf"].append(_custom("UnknownContent"))
    return _with_our_numbers(done)


def _with_our_numbers(schema: Json) -> Json:
    if "const" in schema or "enum" in schema:
        return schema
    match schema.get("type"):
        case "integer":
            return {**schema, **_custom("Integer")}
        case "number":
            return {**schema, **_custom("Number")}
        case kinds if is_array(kinds) and {"integer", "number"} & set(kinds):
            rest = {key: value for key, value in schema.items() if key != "type"}
            return {"anyOf": [_with_our_numbers({**rest, "type": kind}) for kind in kinds]}
        case _:
            return schema


def _custom(name: str) -> Json:
    return {"customTypePath": f"{_RUNTIME}.{name}"}


def _template_data(ir: RevisionIR) -> defaultdict[str, Json]:
    data: defaultdict[str, Json] = defaultdict(dict)
    circular = recursion.circular(ir.types)
    for type_ in ir.types:
        entry = data[type_.name]
        if type_.doc:
            entry["doc"] = text.docstring(type_.doc, 4 if isinstance(type_, ObjectIR) else 0)
        if isinstance(type_, UnionIR) and type_.open and type_.tag:
            entry["open_tag"] = text.literal(type_.tag)
        if isinstance(type_, ObjectIR):
            if type_.any_of_required:
                entry["any_of_required"] = text.literal(type_.any_of_required)
            if type_.name in circular:
                entry["hints"] = _hints(type_, circular)
            entry["defaults"] = {
                str(field.name): default_text(field)
                for field in type_.fields
                if field.default is not None
            }
            entry["markers"] = {
                str(field.name): ", ".join(marked)
                for field in type_.fields
                if (marked := markers(field))
            }
            entry["field_docs"] = {
                str(field.name): text.docstring(doc, 4)
                for field in type_.fields
                if (doc := _field_doc(field))
            }
    return data


def _field_doc(field: FieldIR) -> str:
    """What a member holds, and the known values of a string that may have others."""
    known = ", ".join(f"`{value}`" for value in field.known_values)
    return f"{field.doc}\n\nKnown values: {known}." if known else field.doc


def _hints(type_: ObjectIR, circular: frozenset[str]) -> Mapping[str, str]:
    """The annotations of a class in a circle, where datamodel-code-generator quotes only names."""
    return {
        str(field.name): text.literal(hint) if recursion.uses_any(field, circular) else hint
        for field in type_.fields
        for hint in (field_annotation(field),)
    }


def _aliases(ir: RevisionIR) -> Mapping[str, str]:
    """Our names for members; the same member is called the same everywhere."""
    return {
        field.wire: str(field.name)
        for type_ in ir.types
        if isinstance(type_, ObjectIR)
        for field in type_.fields
        if field.wire != field.name
    }


def _definitions(source: str) -> str:
    """The definitions of a module, as written: without imports before, and without calls after.

    What is called there, `model_rebuild`, would build a class at import that is built on first use.
    """
    body = ast.parse(source).body
    first = max(
        (node.end_lineno or 0 for node in body if isinstance(node, ast.Import | ast.ImportFrom)),
        default=0,
    )
    while isinstance(body[-1], ast.Expr) and isinstance(body[-1].value, ast.Call):
        body.pop()
    return "\n".join(source.split("\n")[first : body[-1].end_lineno]).strip() + "\n"
