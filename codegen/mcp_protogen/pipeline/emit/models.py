"""Message models, from datamodel-code-generator on an outline of the types.

The tool decides the members of each class and the order of definitions, with two small templates of
our own. Annotations come from the IR: the tool gets only references between types. The definitions
are then divided into modules, whose imports follow from the names that they use.
"""

import ast
import json
import warnings
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mcp_protogen.base.graph import Graph, dependencies_first
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.model_modules import about
from mcp_protogen.pipeline.emit import text
from mcp_protogen.pipeline.emit.annotations import (
    alias_annotation,
    base_class,
    class_constants,
    default_text,
    field_annotation,
    member_text,
)
from mcp_protogen.pipeline.ir import AliasIR, ObjectIR, RevisionIR, TypeIR, UnionIR
from mcp_protogen.pipeline.normalise.references import to

Json = dict[str, Any]

# Names that class bodies may use, by module, in the order of import lines.
_IMPORTS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "typing",
        frozenset({"Annotated", "Any", "ClassVar", "Literal", "TYPE_CHECKING", "TypeAlias"}),
    ),
    ("pydantic", frozenset({"Field"})),
    ("typing_extensions", frozenset({"TypeAliasType"})),
)
_OF_RUNTIME = frozenset(
    {"Exact", "Implied", "Integer", "Nullable", "Number", "OpenUnion", "PathEntry", "ToolPlaces"}
    | {"SUPPLIED", "ToolResult", "UnknownContent", "WireModel"}
)
_RUNTIME = "mcp_protogen.runtime.core.models"
_NO_MODULES: Mapping[str, tuple[TypeIR, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModelsSource:
    """The parts of a module of models: its name and subject, types, imports and definitions."""

    name: str
    about: str
    types: tuple[TypeIR, ...]
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    body: str

    @property
    def exported(self) -> list[str]:
        """The names of the types, sorted."""
        return sorted(str(type_.name) for type_ in self.types)


Modules = Mapping[str, tuple[TypeIR, ...]]


def emit(
    ir: RevisionIR,
    definer: "TypeDefiner",
    runtime: str,
    modules: Modules,
    core: Modules = _NO_MODULES,
) -> Iterator[ModelsSource]:
    """Yield Python source for the types of `ir` in `modules`, with imports from `runtime`.

    An extension may name the types in `core`, the modules of its revision.
    """
    names = {module: frozenset(str(type_.name) for type_ in modules[module]) for module in modules}
    beside = [(f".{module}", names[module]) for module in modules]
    beside += [
        (f"....models.{module}", frozenset(str(type_.name) for type_ in core[module]))
        for module in core
    ]
    offered = [*_IMPORTS, (f"{runtime}.core.models", _OF_RUNTIME), *beside]
    definitions = definer.define(ir.types)
    for module, types in modules.items():
        parts = [definition for name, definition in definitions.items() if name in names[module]]
        used = frozenset[str]().union(*(part.used for part in parts)) - names[module]
        imports = tuple(
            (place, tuple(sorted(used & provided)))
            for place, provided in offered
            if used & provided
        )
        body = "\n\n\n".join(part.text for part in parts) + "\n"
        yield ModelsSource(module, about(module), types, imports, body)


@dataclass(frozen=True, slots=True)
class Definition:
    """The text of a type, and the names in it."""

    text: str
    used: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Printed:
    """A definition as the tool prints it, and its statement."""

    text: str
    node: ast.stmt


class TypeDefiner:
    """The definitions of types; revisions share those of the types that they have in common."""

    def __init__(self, templates: Path) -> None:
        self._templates = templates / "models"
        # By `repr`, because 1, 1.0 and True are equal.
        self._printed: dict[str, _Printed] = {}

    def define(self, types: Sequence[TypeIR]) -> Mapping[str, Definition]:
        """Return the definition of each type, in order."""
        circular = recursion.circular(types)
        ordered = _in_order(types, circular)
        # What the tool prints for a type in a cycle depends on the others, also its place.
        known = {repr(type_): type_ for type_ in ordered if type_.name not in circular}
        seen = {type_.name for key, type_ in known.items() if key in self._printed}
        new = [type_ for type_ in ordered if type_.name not in seen]
        output: Mapping[str, _Printed] = {}
        if new:
            output = _print_types(new, circular, self._templates)
        self._printed |= {
            key: output[type_.name] for key, type_ in known.items() if type_.name in output
        }
        printed = {str(type_.name): self._printed[key] for key, type_ in known.items()}
        printed |= {name: definition for name, definition in output.items() if name in circular}
        endless = _endless(types)
        hints = {name: ast.parse(alias_annotation(alias)) for name, alias in endless.items()}
        definitions: dict[str, Definition] = {}
        later = set(printed)
        for name, definition in printed.items():
            trees = [definition.node, *([hints[name]] if name in hints else ())]
            quoted = _quote_annotations(definition, later)
            definitions[name] = Definition(quoted, frozenset(_names_in(trees)))
            later.remove(name)
        return definitions


def _names_in(trees: Iterable[ast.AST]) -> Iterator[str]:
    return (node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))


def _print_types(
    types: Sequence[TypeIR], circular: Container[str], templates: Path
) -> Mapping[str, _Printed]:
    """Return the text of each type, in the tool's order."""
    source = _generate(types, circular, templates)
    lines, body = source.split("\n"), _definitions(source)
    defined = [(name, node) for node in body for name in _definition_names(node)]
    ends = [*(node.lineno - 1 for _, node in defined[1:]), body[-1].end_lineno]
    return {
        name: _Printed("\n".join(lines[node.lineno - 1 : end]).rstrip(), node)
        for (name, node), end in zip(defined, ends, strict=True)
    }


def _generate(types: Sequence[TypeIR], circular: Container[str], templates: Path) -> str:
    from datamodel_code_generator import InputFileType, LiteralType, generate
    from datamodel_code_generator.enums import DataModelType
    from datamodel_code_generator.format import PythonVersion

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = generate(
            json.dumps(_skeleton(types, circular)),
            input_file_type=InputFileType.JsonSchema,
            output_model_type=DataModelType.PydanticV2BaseModel,
            target_python_version=PythonVersion.PY_311,
            base_class=f"{_RUNTIME}.WireModel",
            custom_template_dir=templates,
            extra_template_data=_template_data(types),
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


def _in_order(types: Sequence[TypeIR], circular: Container[str]) -> list[TypeIR]:
    """Return the types in the order of their definitions, those in cycles last.

    In cycles, classes come before aliases, because Python evaluates the right-hand side of an alias
    at once.
    """
    rounds = _rounds(recursion.graph_of(types), circular)

    def rank(type_: TypeIR) -> tuple[float, int]:
        inside = (1 if isinstance(type_, ObjectIR) else 2) if type_.name in circular else 0
        return rounds[type_.name], inside

    return sorted(types, key=rank)


def _skeleton(types: Sequence[TypeIR], circular: Container[str]) -> Json:
    """Return the outline of the types for datamodel-code-generator.

    It needs only members, and the references of aliases in cycles. All other types are without
    references, on which the tool spends most of its time.
    """
    names = {str(type_.name) for type_ in types}
    definitions = {
        str(type_.name): _outline(type_, names if type_.name in circular else ()) for type_ in types
    }
    # The schema itself is not a type; no type has this name.
    return {"title": "WireModel", "$defs": definitions}


def _rounds(graph: Graph, circular: Container[str]) -> Mapping[str, float]:
    """Return the round of each type's definition.

    Each round defines, in order, the types that refer only to earlier ones; types that lead to a
    cycle come last.
    """
    places = {name: place for place, name in enumerate(graph)}
    rounds: dict[str, float] = {}
    for name in dependencies_first(graph):
        dependencies = [d for d in graph[name] if d in places and name not in circular]
        rounds[name] = max(
            (rounds[d] + (places[d] > places[name]) for d in dependencies), default=0
        )
        if name in circular:
            rounds[name] = inf
    return rounds


def _outline(type_: TypeIR, names: Collection[str]) -> Json:
    """Return the outline of a type; an alias has its references to the types in `names`."""
    if not isinstance(type_, ObjectIR):
        return _references(name for name in recursion.uses(type_) if name in names)
    return {
        "type": "object",
        "properties": {str(field.name): True for field in type_.own_fields},
        "required": [str(field.name) for field in type_.own_fields if field.required],
    }


def _references(names: Iterable[str]) -> Json:
    # Not `anyOf`: a reference in it to a later type makes the tool search everything.
    return {"type": "array", "prefixItems": [to(name) for name in dict.fromkeys(names)]}


def _template_data(types: Sequence[TypeIR]) -> defaultdict[str, Json]:
    data: defaultdict[str, Json] = defaultdict(dict)
    endless = _endless(types)
    for type_ in types:
        entry = data[type_.name]
        if type_.doc:
            is_class = isinstance(type_, ObjectIR)
            indent = 4 if is_class or type_.name in endless else 0
            entry["doc"] = text.docstring(type_.doc, indent, of_member=not is_class)
        if not isinstance(type_, ObjectIR):
            entry["hint"] = alias_annotation(type_)
            if type_.name in endless:
                entry["recursive"] = text.literal(entry["hint"])
            continue
        entry["base"] = base_class(type_)
        entry["constants"] = class_constants(type_)
        entry["members"] = {
            str(field.name): {
                "hint": field_annotation(field),
                "default": default_text(field),
                "doc": text.docstring(doc, 4, of_member=True) if doc else None,
            }
            for field in type_.own_fields
            for doc in [member_text(field)]
        }
    return data


def _endless(types: Sequence[TypeIR]) -> Mapping[str, UnionIR | AliasIR]:
    """Return the aliases that contain themselves without a class in between.

    Pydantic needs a `TypeAliasType` for these, and pyright understands only some of such cycles.
    """
    aliases = {str(type_.name): type_ for type_ in types if not isinstance(type_, ObjectIR)}
    return {name: aliases[name] for name in sorted(recursion.circular(aliases.values()))}


def _definitions(source: str) -> list[ast.stmt]:
    """Return the definitions of a module, without its imports and final calls.

    These calls of `model_rebuild` would build classes on import; ours are built on first use.
    """
    body = ast.parse(source).body
    while isinstance(body[-1], ast.Expr) and isinstance(body[-1].value, ast.Call):
        body.pop()
    return [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]


def _quote_annotations(printed: _Printed, later: Set[str]) -> str:
    """Return the text of a type; annotations with the own or a later type are quoted."""
    lines = printed.text.split("\n")
    for hint in _hints(printed.node):
        if not later.isdisjoint(_names_in([hint])):
            row = hint.lineno - printed.node.lineno
            line = lines[row].encode()  # columns count bytes
            start, end = hint.col_offset, hint.end_col_offset or 0
            quoted = text.literal(line[start:end].decode()).encode()
            lines[row] = (line[:start] + quoted + line[end:]).decode()
    return "\n".join(lines)


def _hints(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the annotations of a class, each of them on one line, or the type of an alias."""
    match node:
        case ast.Assign(value=ast.Call(args=[_, value])):
            yield value
        case ast.ClassDef(body=body):
            yield from (
                statement.annotation for statement in body if isinstance(statement, ast.AnnAssign)
            )
        case _:
            pass


def _definition_names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            yield name
        case ast.If(orelse=[other]):
            yield from _definition_names(other)
        case _:
            pass
