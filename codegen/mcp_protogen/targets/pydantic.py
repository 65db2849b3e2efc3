"""Types as plain Pydantic models, without our runtime."""

from collections.abc import Iterator, Sequence

from mcp_protogen.base.graph import find_reachable
from mcp_protogen.base.names import field_name
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.emit.annotations import CONSTRAINTS
from mcp_protogen.pipeline.emit.text import literal
from mcp_protogen.pipeline.ir import AliasIR, FieldIR, ObjectIR, Ref, RevisionIR, TypeIR, UnionIR
from mcp_protogen.pipeline.target import TargetOptions
from mcp_protogen.targets.python.annotations import alias_hint, hint, optional
from mcp_protogen.targets.python.docstrings import class_text, member_docstring, type_docstring
from mcp_protogen.targets.python.modules import Definitions, PythonTarget, with_base_class
from mcp_protogen.targets.python.order import endless, order_types

_IMPORTS = {
    "pydantic": frozenset({"BaseModel", "ConfigDict", "Field", "RootModel", "model_validator"}),
    "typing": frozenset({"Annotated", "Any", "Literal", "TYPE_CHECKING", "TypeAlias"}),
    "typing_extensions": frozenset({"Self", "TypeAliasType"}),
}
_EMPTY = "Field(max_length=0)"
_BASE = '''class WireModel(BaseModel):
    """The base of all models here: nothing is converted, and undeclared members are kept.

    Write them with `by_alias=True, exclude_unset=True`: what is absent is not null. Only the
    constructor takes Python names as well as wire names.
    """

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    if not TYPE_CHECKING:

        def __init__(self, /, **members: Any) -> None:
            self.__pydantic_validator__.validate_python(members, self_instance=self, by_name=True)

        # Without this mark, Pydantic would also call it for every object that it reads.
        __init__.__pydantic_base_init__ = True
'''
_ANY_OF = '''@model_validator(mode="after")
def {name}(self) -> Self:
    """Require one of {members}."""
    if {absent}:
        raise ValueError({message})
    return self'''


def _definitions(ir: RevisionIR, options: TargetOptions) -> Definitions:
    types = order_types(ir)
    texts = [] if options.base_class else [_BASE]
    lazy = endless(ir)
    for type_ in types:
        if isinstance(type_, ObjectIR):
            texts.append(_model(type_, options))
        elif options.root_models and type_.origin:
            texts.append(_root_model(type_, options))
        else:
            texts.append(_alias(type_, ir, lazy=type_.name in lazy))
    texts += ["\n".join(_rebuilt(types, options))]
    own = () if options.base_class else ("WireModel",)
    names = (*(str(type_.name) for type_ in types), *own)
    return Definitions(with_base_class(_IMPORTS, options), "\n\n\n".join(texts), names)


TARGET = PythonTarget(_definitions, frozenset({"base_class", "extra", "root_models"}))


def _model(type_: ObjectIR, options: TargetOptions) -> str:
    root = options.base_class.partition(":")[2] if options.base_class else "WireModel"
    head = f"class {type_.name}({type_.base or root}):"
    lines: list[str] = []
    if options.extra is not None:
        extra = "allow" if type_.open else options.extra
        lines += [f"model_config = ConfigDict(extra={literal(extra)})", ""]
    for field in type_.own_fields:
        lines += _member(field)
    if type_.any_of_required:
        lines += ["", *_any_of(type_)]
    return class_text(head, type_docstring(type_), lines)


def _member(field: FieldIR) -> list[str]:
    annotation = hint(field.type, _EMPTY)
    annotation = annotation if field.required else optional(annotation)
    arguments = [] if field.wire == field.name else [f"alias={literal(field.wire)}"]
    arguments += [f"{CONSTRAINTS[key]}={literal(value)}" for key, value in field.constraints]
    if arguments:
        annotation = f"Annotated[{annotation}, Field({', '.join(arguments)})]"
    default = "" if field.required else " = None"
    return [f"{field.name}: {annotation}{default}", *member_docstring(field)]


def _any_of(type_: ObjectIR) -> list[str]:
    """Return a validator for a type that requires at least one of some members."""
    fields = [field for field in type_.fields if field.wire in type_.any_of_required]
    names = [field.name for field in fields]
    text = _ANY_OF.format(
        name=f"require_{'_or_'.join(names)}",
        members=" and ".join(f"`{field.wire}`" for field in fields),
        absent=f"not {{{', '.join(literal(name) for name in names)}}} & self.model_fields_set",
        message=literal(f"needs one of {', '.join(type_.any_of_required)}"),
    )
    return text.split("\n")


def _root_model(type_: UnionIR | AliasIR, options: TargetOptions) -> str:
    annotation = alias_hint(type_, _EMPTY)
    lines = [f"root: {annotation}"]
    if options.base_class is None:
        config = "model_config = ConfigDict(strict=True, allow_inf_nan=False)"
        lines = [config, "", *lines]
    # The class itself is not defined yet.
    parameter = literal(annotation) if type_.name in recursion.uses(type_) else annotation
    return class_text(f"class {type_.name}(RootModel[{parameter}]):", type_docstring(type_), lines)


def _alias(type_: UnionIR | AliasIR, ir: RevisionIR, *, lazy: bool) -> str:
    annotation = alias_hint(type_, _EMPTY)
    if isinstance(type_, UnionIR) and type_.tag is not None and _are_classes(type_, ir):
        attribute = literal(field_name(type_.tag))
        annotation = f"Annotated[{annotation}, Field(discriminator={attribute})]"
    doc = type_docstring(type_)
    name = type_.name
    text = (
        f"{name} = TypeAliasType({literal(name)}, {literal(annotation)})"
        if lazy
        else f"{name}: TypeAlias = {annotation}"
    )
    return f"{text}\n{doc}" if doc else text


def _are_classes(type_: UnionIR, ir: RevisionIR) -> bool:
    """Return whether all arms are models, which Pydantic can distinguish by a member."""
    models = {known_type.name for known_type in ir.types if isinstance(known_type, ObjectIR)}
    return all(isinstance(arm, Ref) and arm.name in models for arm in type_.arms)


def _rebuilt(types: Sequence[TypeIR], options: TargetOptions) -> Iterator[str]:
    """Yield a call for each class that needs types defined after it."""
    graph = recursion.graph_of(types)
    circular = recursion.circular(types)
    for type_ in types:
        is_class = isinstance(type_, ObjectIR) or (options.root_models and type_.origin)
        if is_class and find_reachable(graph, [type_.name]) & circular:
            yield f"{type_.name}.model_rebuild()"
