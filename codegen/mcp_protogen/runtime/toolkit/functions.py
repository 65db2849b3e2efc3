"""Functions as clients see them: parameters, JSON Schemas and arguments.

Types are resolved late, when all names in annotations are defined. Pydantic validates in lax mode,
which reads `"3"` as an int: models often write numbers as text. Unknown arguments are errors, so
that misspelt ones are noticed.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from ..core.json import JSONObject, is_object, json_text
from ..core.models.base import BUILDING
from ..core.options import MANY, count_values, has_long_paths
from ..core.sendable import Unsendable, check_finite
from ..core.untitled_schema import UNFIT_TYPE, UntitledJsonSchema, adapter_of, unfit_type
from ..server.base import SessionBase, check_forms
from .docstrings import docstring_of

Function: TypeAlias = Callable[..., Any]

EMPTY: Final = inspect.Parameter.empty

_UNFIT: Final[Mapping[Any, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but clients send arguments by name",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments, but each one needs a schema",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name, but each one needs a schema",
}

_BY_NAME: Final = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)

_CONFIG: Final = ConfigDict(extra="forbid", protected_namespaces=())
_SCALARS: Final = frozenset((str, int, float, bool, NoneType))
_DEFS: Final = "#/$defs/"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter set by clients; `wire` is its name on the wire."""

    name: str
    wire: str
    annotation: Any
    default: Any
    description: str | None = None

    @property
    def info(self) -> FieldInfo:
        if isinstance(self.default, FieldInfo):
            return self.default
        return FieldInfo.from_annotation(self.annotation)

    @property
    def required(self) -> bool:
        default = self.default
        return default is EMPTY or (isinstance(default, FieldInfo) and default.is_required())


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as clients see it; `label` names it in messages."""

    label: str
    parameters: tuple[Parameter, ...]
    sessions: tuple[str, ...]
    returns: Any
    """The return annotation; `EMPTY` if there is none."""
    description: str | None
    """The docstring without its descriptions of parameters."""


@dataclass(frozen=True, slots=True)
class Depends:
    """A function that gives a parameter its value: `db: Annotated[Db, Depends(open_db)]`.

    It may be a coroutine function or a generator, which continues after the call, and may have
    dependencies or take the session itself.
    """

    function: Function
    _: KW_ONLY
    thread: bool | None = None
    """Whether it runs in a thread, the default for plain functions; false if it never blocks."""


def function_name(function: Function) -> str:
    if isinstance(function, partial):
        return f"functools.partial of {function_name(function.func)}"
    return getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")


def check_shape(function: Function, *, method: bool) -> list[str]:
    """Return the names of the parameters; raise `TypeError` if clients cannot set one."""
    label = function_name(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{label} is a generator, but a client gets one result")
    names: list[str] = []
    for parameter in _parameters(function, method):
        reason = _UNFIT.get(parameter.kind)
        if reason is None and parameter.annotation is EMPTY:
            reason = f"has no annotation, so its type is unknown: {parameter.name}: str"
        if reason is not None:
            raise TypeError(f"{label}: the parameter {parameter.name} {reason}")
        names.append(parameter.name)
    return names


def signature_of(function: Function, *, method: bool) -> Signature:
    label = function_name(function)
    try:
        # A decorator may wrap the function in another module, without the names of the annotations.
        inner = _innermost(function)
        hints = get_type_hints(inner, include_extras=True)
    except NameError as error:
        raise TypeError(f"{label}: unknown name in an annotation: {error}") from error
    docstring = docstring_of(inner if function.__doc__ == partial.__doc__ else function)
    declared = [
        _parameter(
            label,
            parameter,
            hints.get(parameter.name, parameter.annotation),
            docstring.parameters.get(parameter.name),
        )
        for parameter in _parameters(function, method)
    ]
    sessions = tuple(parameter.name for parameter in declared if _is_session(parameter.annotation))
    parameters = tuple(parameter for parameter in declared if parameter.name not in sessions)
    wires = [parameter.wire for parameter in parameters]
    for parameter in parameters:
        if wires.count(parameter.wire) > 1:
            raise TypeError(f"{label}: two parameters have the name {parameter.wire}")
    if sessions:
        check_forms(function)
    returns = hints.get("return", EMPTY)
    return Signature(label, parameters, sessions, returns, docstring.description)


def _innermost(function: Function) -> Function:
    inner = inspect.unwrap(function)
    return _innermost(inner.func) if isinstance(inner, partial) else inner


def _parameter(
    label: str, parameter: inspect.Parameter, annotation: Any, documented: str | None
) -> Parameter:
    described = Parameter(parameter.name, parameter.name, annotation, parameter.default)
    if _is_session(annotation):
        return described
    info = described.info
    # Field(alias="from") gives a name that a Python parameter cannot have; a validation alias comes
    # first, because it is the name that is read.
    alias = info.validation_alias or info.alias or described.wire
    at_fault = f"{label}: the parameter {parameter.name} has"
    if not isinstance(alias, str):
        raise TypeError(f"{at_fault} several aliases, but clients use one name")
    if parameter.default is EMPTY and not info.is_required():
        raise TypeError(f"{at_fault} its default in the annotation, where Python does not use it")
    own = info.description or FieldInfo.from_annotation(annotation).description
    return replace(described, wire=alias, description=own or documented)


def _parameters(function: Function, method: bool) -> Iterator[inspect.Parameter]:
    parameters = iter(inspect.signature(function).parameters.values())
    if method and not _is_self(first := next(parameters, None)):
        takes = f"and this one takes {first.name if first else 'nothing'}"
        advice = "write self before the rest, or make it a @staticmethod"
        raise TypeError(f"{function_name(function)}: a method takes self first, {takes}: {advice}")
    return parameters


def _is_self(parameter: inspect.Parameter | None) -> bool:
    # A wrapper may take anything.
    if parameter is None or parameter.kind in _BY_NAME:
        return False
    anything = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return anything or parameter.name in ("self", "cls") or parameter.name.startswith("_")


def _is_session(annotation: Any) -> bool:
    # A function also called without a client takes `Session | None = None`.
    arms = [arm for arm in union_types(annotation) if arm is not NoneType]
    return arms != [] and all(
        isinstance(arm, type) and issubclass(arm, SessionBase) for arm in arms
    )


def split_dependencies(signature: Signature) -> tuple[Signature, Mapping[str, Depends]]:
    """Return the signature without its dependencies, and the dependencies by parameter."""
    filled = {
        parameter.name: dependency
        for parameter in signature.parameters
        if (dependency := _dependency_of(signature, parameter))
    }
    left = tuple(parameter for parameter in signature.parameters if parameter.name not in filled)
    return replace(signature, parameters=left), filled


def _dependency_of(signature: Signature, parameter: Parameter) -> Depends | None:
    if isinstance(parameter.default, Depends):
        name = function_name(parameter.default.function)
        advice = f"{parameter.name}: Annotated[…, Depends({name})]"
        raise TypeError(f"{signature.label}: Depends must be in the annotation: {advice}")
    # A type alias has its value in an attribute.
    annotation = getattr(parameter.annotation, "__value__", parameter.annotation)
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark for mark in metadata if isinstance(mark, Depends)), None)


def union_types(annotation: Any) -> list[Any]:
    annotation = getattr(annotation, "__value__", annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return union_types(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [inner for arm in get_args(annotation) for inner in union_types(arm)]
    return [annotation]


class Arguments:
    def __init__(self, signature: Signature) -> None:
        # An argument may have any name, but a field of a model may not.
        parameters = {f"a{i}": parameter for i, parameter in enumerate(signature.parameters)}
        self._names = {field: parameter.name for field, parameter in parameters.items()}
        self._wires = [parameter.wire for parameter in signature.parameters]
        model = _model(signature.label, parameters)
        self._validator = model.__pydantic_validator__
        self._pydantic_defaults = frozenset(
            field
            for field, parameter in parameters.items()
            if isinstance(parameter.default, FieldInfo)
        )
        schema = schema_of(model.model_json_schema, signature.label)
        # A function without parameters allows no members (2025-11-25, server/tools, "Tool").
        if not schema["properties"]:
            del schema["properties"]
        # The type first, for human readers.
        self.schema: JSONObject = {"type": schema.pop("type"), **schema}

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if len(arguments) > MANY or not _SCALARS.issuperset(map(type, arguments.values())):
            self._check_size(arguments)
        try:
            values = self._validator.validate_python(arguments)
        except ValidationError:
            values = self._from_json(arguments)
        read, names = values.__dict__, self._names
        # If the client left out an argument, Python's own default applies.
        given = values.__pydantic_fields_set__
        if self._pydantic_defaults:
            given = given | self._pydantic_defaults
        return {names[field]: read[field] for field in given}

    def _check_size(self, arguments: Mapping[str, Any]) -> None:
        if count_values(arguments, MANY) > MANY or has_long_paths(arguments):
            from .failures import refuse_large

            refuse_large(arguments, self._validate, self._wires)

    def _from_json(self, arguments: Mapping[str, Any]) -> BaseModel:
        try:
            return self._validate(arguments)
        except ValidationError as error:
            from ..core.many_errors import problems_within
            from .failures import BadArguments

            faults = problems_within(error, arguments, "", self._validate)
            raise BadArguments(faults, arguments, self._wires) from None

    def _validate(self, arguments: Mapping[str, Any]) -> BaseModel:
        # From JSON text, strict types also take a date or a set.
        values: BaseModel = self._validator.validate_json(json_text(arguments))
        return values


def _model(label: str, parameters: Mapping[str, Parameter]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        field: (
            Annotated[
                parameter.annotation, Field(alias=parameter.wire, description=parameter.description)
            ],
            ... if parameter.default is EMPTY else parameter.default,
        )
        for field, parameter in parameters.items()
    }
    with BUILDING:
        try:
            model: type[BaseModel] = create_model("Arguments", __config__=_CONFIG, **fields)
            # An incomplete model raises at its first use: build it now.
            model.model_rebuild()
        except UNFIT_TYPE as error:
            for parameter in parameters.values():
                parameter_adapter(label, parameter)
            raise unfit_type(label, error) from error
    return model


def parameter_adapter(label: str, parameter: Parameter) -> TypeAdapter[Any]:
    # Without names and descriptions beside the type, which only fields of models may have.
    info = FieldInfo.from_annotation(parameter.annotation)
    constraints = list(info.metadata)
    if isinstance(parameter.default, FieldInfo):
        # `size: int = Field(3, ge=1)` has the constraints of the type in its default.
        constraints += parameter.default.metadata
    annotation: Any = info.annotation
    if constraints:
        annotation = Annotated[(annotation, *constraints)]
    return adapter_of(annotation, f"{label}: the parameter {parameter.name} cannot be JSON")


class _PlainJsonSchema(UntitledJsonSchema):
    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JSONObject:
        generated = super().generate(schema, mode)
        definitions: JSONObject = generated.get("$defs", {})
        for name, definition in definitions.items():
            # `module__Class` tells classes of the same name apart.
            if is_object(definition) and name.rpartition("__")[2] == definition.get("title"):
                del definition["title"]
        # A recursive type has a reference at its root, where an object is expected.
        root = str(generated.get("$ref", ""))
        if root.startswith(_DEFS):
            del generated["$ref"]
            generated = {**definitions[root.removeprefix(_DEFS)], **generated}
        generated.pop("title", None)
        return generated


def schema_of(generate: Callable[..., JSONObject], label: str, **options: Any) -> JSONObject:
    """Return the schema made by a method of Pydantic; raise `TypeError`."""
    try:
        schema = generate(schema_generator=_PlainJsonSchema, **options)
        check_finite(schema)
    except PydanticInvalidForJsonSchema as error:
        raise TypeError(f"{label}: {error.message}") from error
    except Unsendable as error:
        raise TypeError(f"{label}: the schema cannot be sent: {error}") from error
    return schema
