"""The target `dataclasses`: a class for each type, with the code that reads and writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mcp_protogen.base.names import field_name
from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.pipeline.emit.text import literal, tuple_of
from mcp_protogen.pipeline.ir import Anything, FieldIR, Filled, ObjectIR, RevisionIR, UnionIR
from mcp_protogen.pipeline.target import Extra, TargetFile, TargetOptions
from mcp_protogen.targets.python import aliases
from mcp_protogen.targets.python.annotations import either, hint, optional
from mcp_protogen.targets.python.docstrings import class_text, member_docstring, type_docstring
from mcp_protogen.targets.python.modules import Definitions, Imports, PythonTarget
from mcp_protogen.targets.python.order import endless, order_types

from .wire.objects import EXTRA
from .wire_source import PUBLIC, wire_source

_BASES: Final[Mapping[Extra, str]] = {
    "allow": "OpenObject",
    "ignore": "WireObject",
    "forbid": "ClosedObject",
}
_LIMITS: Final = {
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
}
_IMPORTS: Final[Imports] = {
    "dataclasses": frozenset({"dataclass", "field"}),
    "typing": aliases.IMPORTS["typing"] | {"Annotated", "Any", "ClassVar", "Literal", "Never"},
}


class _DataclassesTarget(PythonTarget):
    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions; a package has `wire.py` for all of them."""
        raise_errors(problem for ir in revisions for problem in _name_collisions(ir, options))
        yield from super().files(revisions, options)
        if options.layout == "package" and "models" in options.layers:
            yield TargetFile("wire.py", wire_source().module())


def _name_collisions(ir: RevisionIR, options: TargetOptions) -> Iterator[Problem]:
    """Yield a problem for each name that collides with the code beside the classes."""
    hint = "give it another name with --names"
    if options.layout == "package" and ir.module == "wire":
        yield Problem("name-collision", "a revision has the name of the module wire", hint=hint)
    for type_ in ir.types:
        if isinstance(type_, ObjectIR) and any(field.name == EXTRA for field in type_.fields):
            message = f"a member of {type_.name} has the name of its undeclared members, {EXTRA}"
            yield Problem("name-collision", message, ir.id, type_.origin, hint)


def _definitions(ir: RevisionIR, options: TargetOptions) -> Definitions:
    text = "\n\n\n".join(_types(ir, options))
    names = tuple(str(type_.name) for type_ in ir.types)
    if options.layout == "package":
        return Definitions({**_IMPORTS, "..wire": PUBLIC}, text, names)
    source = wire_source()
    modules = {*_IMPORTS, *source.imports}
    none = frozenset[str]()
    imports = {
        module: _IMPORTS.get(module, none) | source.imports.get(module, none) for module in modules
    }
    # Classes need their bases before them; readers and writers come last.
    text = "\n\n\n".join((source.objects, text, source.functions))
    return Definitions(imports, text, (*names, *PUBLIC))


TARGET = _DataclassesTarget(_definitions, frozenset({"extra"}))


def _types(ir: RevisionIR, options: TargetOptions) -> Iterator[str]:
    lazy = endless(ir)
    for type_ in order_types(ir):
        if isinstance(type_, ObjectIR):
            yield _class(type_, _BASES["allow" if type_.open else options.extra or "allow"])
        else:
            is_open = isinstance(type_, UnionIR) and type_.open
            extra = ("UnknownContent",) if is_open else ()
            yield aliases.alias_text(type_, *extra, lazy=type_.name in lazy)


def _class(type_: ObjectIR, base: str) -> str:
    head = f"@dataclass(slots=True, kw_only=True)\nclass {type_.name}({base}):"
    lines = [line for field in type_.fields for line in _member(field)]
    if type_.any_of_required:
        wire_names = tuple_of(map(literal, type_.any_of_required))
        lines = [f"ANY_OF_REQUIRED: ClassVar[tuple[str, ...]] = {wire_names}", "", *lines]
    return class_text(head, type_docstring(type_), lines)


def _member(field: FieldIR) -> list[str]:
    annotation, default = hint(field.type), _default(field)
    if default == "None":
        annotation = optional(annotation)
    elif default == "ABSENT" and annotation != "Any":
        annotation = either((annotation, "Absent", "None"))
    marks = [] if field.wire == field.name else [f"Wire({literal(field.wire)})"]
    limits = [f"{_LIMITS[key]}={literal(value)}" for key, value in field.constraints]
    marks += [f"Limits({', '.join(limits)})"] if limits else []
    if marks:
        annotation = f"Annotated[{', '.join((annotation, *marks))}]"
    text = f"{field.name}: {annotation}" + (f" = {default}" if default else "")
    return [text, *member_docstring(field)]


def _default(field: FieldIR) -> str:
    """Return the default of an attribute; empty if it is required."""
    if isinstance(field.default, Filled):
        made = hint(field.type)
        if field.default.texts:
            texts = ", ".join(f'{field_name(text)}=""' for text in field.default.texts)
            made = f"lambda: {made}({texts})"
        return f"field(default_factory={made})"
    if field.default is not None:
        return literal(field.default)
    if field.required:
        return ""
    return "ABSENT" if field.nullable or isinstance(field.type, Anything) else "None"
