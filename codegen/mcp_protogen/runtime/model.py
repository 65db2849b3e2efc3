"""Models that accept from the wire what the JSON Schema accepts, and are pleasant from Python.

Pydantic has one notion of "optional"; a JSON Schema has three: a member may be absent, may be null,
or may be both, and a constant is written by every sender although no caller wants to repeat it.
`WireModel` keeps these apart by adjusting the validation schema once, when a class is first used:

* a constant (`type: Literal["text"] = "text"`), and any member marked `Implied`, is required on the
  wire and filled in for callers;
* `None` in an optional member that may not be null means absent, and is refused from the wire;
* a member marked `Nullable`, one of type `Any`, and undeclared members keep an explicit null.

This module knows no method, no revision and no JSON-RPC.
"""

from collections.abc import Callable
from functools import partial
from operator import is_
from threading import RLock
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    cast,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core import core_schema as cs

from .faults import stop_at_first

# Pydantic defers building to the first use, which any thread may be: all builds share this lock.
BUILDING: Final = RLock()

# Classes whose build has begun. A class builds those it refers to before itself, so that each is
# built once, however many refer to it, and instances can be written by their own class.
_under_way: set[type["WireModel"]] = set()

_STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)
_IS_NONE: Final = partial(is_, None)

Validate: TypeAlias = Callable[[Any], Any]
"""Reads a decoded JSON value."""


class Implied:
    """Marks a member that has a usual value: required on the wire, filled in for callers."""


SUPPLIED: Final[Any] = object()
"""The usual value of a member that is an object: one whose own members have their usual values.

All instances that leave the member out share it, so it cannot be changed: a caller who wants
another gives one. `supplied` tells which it is.
"""


class Nullable:
    """Marks an optional member that may also be null: `Annotated[int | None, Nullable]`."""


# What a model's fields validate to: the declared members, the others, the names that were given.
_Members: TypeAlias = tuple[dict[str, Any], dict[str, Any] | None, set[str]]


class _Rules(NamedTuple):
    """What construction from Python has to know about a class."""

    implied: tuple[tuple[str, str, Any], ...]  # name, wire name, value
    absent_if_none: frozenset[str]  # wire names, and names in Python
    optional: frozenset[str]  # of these, the names in Python


class WireModel(BaseModel):
    """A JSON object of the protocol.

    Undeclared members are kept. Types are not coerced: `"1"` and `true` are not integers. Only the
    constructor takes Python names, beside wire names; whatever reads knows wire names alone.
    """

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        defer_build=True,
        validate_assignment=True,
        serialize_by_alias=True,
        protected_namespaces=(),
        allow_inf_nan=False,
    )

    # Only declared: Pydantic would evaluate the annotation again for each of the subclasses, which
    # is a quarter of what creating a small class costs.
    if TYPE_CHECKING:
        ANY_OF_REQUIRED: ClassVar[tuple[str, ...]]
        """Wire names of which at least one must be present; most classes have none."""

        __wire_rules__: ClassVar[_Rules]

    @classmethod
    def from_wire(cls, value: Any) -> Self:
        """Read a decoded JSON value; raises `pydantic.ValidationError`."""
        return cls.model_validate(value)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read JSON text; raises `pydantic.ValidationError`."""
        return cls.model_validate_json(data)

    def to_wire(self) -> dict[str, Any]:
        """The JSON object to send, as a dictionary of JSON values."""
        wire: dict[str, Any] = self.__pydantic_serializer__.to_python(
            self, mode="json", by_alias=True, exclude_unset=True
        )
        return wire

    def to_json(self) -> bytes:
        """The JSON object to send, as UTF-8 text.

        NaN and infinities, which only members of any type can hold, become null as in JavaScript.
        Raises `pydantic_core.PydanticSerializationError` for what has no JSON form.
        """
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_unset=True)

    # Type checkers read the signatures of construction and dumping from the fields and from
    # BaseModel; what follows only changes what those do.
    if not TYPE_CHECKING:

        def __init__(self, /, **members: Any) -> None:
            cls = type(self)
            _complete(cls, members)
            cls.__pydantic_validator__.validate_python(members, self_instance=self, by_name=True)

        # Without this mark Pydantic would call __init__ for every object it reads, at the price of
        # a Python call each, and constants would be filled in on the wire too.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name: str, value: Any) -> None:
            _refuse_if_shared(self)
            if value is None and name in _rules_of(type(self)).optional:
                self.__dict__[name] = None
                self.__pydantic_fields_set__.discard(name)
            else:
                super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            _refuse_if_shared(self)
            super().__delattr__(name)

        @classmethod
        def model_construct(cls, _fields_set: set[str] | None = None, **members: Any) -> Self:
            _complete(cls, members)
            if _fields_set is not None:
                _fields_set = _fields_set | {name for name, _, _ in _rules_of(cls).implied}
            return super().model_construct(_fields_set, **members)

        def model_dump(self, **options: Any) -> dict[str, Any]:
            return super().model_dump(**{"exclude_unset": True, **options})

        def model_dump_json(self, **options: Any) -> str:
            return super().model_dump_json(**{"exclude_unset": True, **options})

        @classmethod
        def model_rebuild(cls, *, _parent_namespace_depth: int = 2, **options: Any) -> bool | None:
            with BUILDING:
                _under_way.add(cls)
                try:
                    return super().model_rebuild(
                        _parent_namespace_depth=_parent_namespace_depth + 1, **options
                    )
                finally:
                    _under_way.discard(cls)

        @classmethod
        def __get_pydantic_core_schema__(
            cls, source: Any, handler: GetCoreSchemaHandler, /
        ) -> CoreSchema:
            with BUILDING:
                if cls not in _under_way:
                    cls.model_rebuild(raise_errors=False)
                schema = handler(source)
                if not cls.__pydantic_complete__:
                    _adjust(cls, handler.resolve_ref_schema(schema), handler)
            return schema


_shared: dict[type, WireModel] = {}


def supplied(value: object) -> bool:
    """Whether a model stands where the caller gave none (see `SUPPLIED`)."""
    return value is not None and _shared.get(type(value)) is value


def _refuse_if_shared(model: WireModel) -> None:
    if supplied(model):
        raise AttributeError(f"nobody gave this {type(model).__name__}: give one of your own")


def _share(cls: type[WireModel]) -> WireModel:
    with BUILDING:
        if cls not in _shared:
            _shared[cls] = cls()
        return _shared[cls]


def required_constants(cls: type[WireModel]) -> dict[str, Any]:
    """The members that have one value only in every valid object, by wire name."""
    return {
        field.alias or name: field.default
        for name, field in cls.model_fields.items()
        if _is_constant(field)
    }


def required_members(cls: type[WireModel]) -> list[str]:
    """The wire names of the members without which an object is not valid, in the class's order."""
    return [
        field.alias or name
        for name, field in cls.model_fields.items()
        if field.is_required() or _is_implied(field)
    ]


def _complete(cls: type[WireModel], members: dict[str, Any]) -> None:
    """Turn what a caller gave into what the wire would have carried."""
    rules = _rules_of(cls)
    for name in [name for name, value in members.items() if value is None]:
        if name in rules.absent_if_none:
            del members[name]
    for name, wire_name, value in rules.implied:
        if name not in members and wire_name not in members:
            members[name] = value


def _rules_of(cls: type[WireModel]) -> _Rules:
    return cls.__dict__.get("__wire_rules__") or _derive_rules(cls)


def _derive_rules(cls: type[WireModel]) -> _Rules:
    # Building resolves annotations that name classes defined further down.
    cls.model_rebuild()
    implied: list[tuple[str, str, Any]] = []
    optional: dict[str, str] = {}
    for name, field in cls.model_fields.items():
        wire_name = field.alias or name
        if _is_implied(field):
            default = field.default
            if default is SUPPLIED:
                default = _share(cast(type[WireModel], field.annotation))
            implied.append((name, wire_name, default))
        elif _absent_if_none(field):
            optional[name] = wire_name
    names = frozenset(optional)
    rules = _Rules(tuple(implied), names.union(optional.values()), names)
    cls.__wire_rules__ = rules
    return rules


def _is_constant(field: FieldInfo) -> bool:
    kind = field.annotation
    return get_origin(kind) is Literal and get_args(kind) == (field.default,)


def _is_implied(field: FieldInfo) -> bool:
    return _is_constant(field) or Implied in field.metadata


def _absent_if_none(field: FieldInfo) -> bool:
    arms = get_args(field.annotation)
    return (
        not field.is_required()
        and field.default is None
        and NoneType in arms
        and Any not in arms
        and Nullable not in field.metadata
    )


def _adjust(cls: type[WireModel], schema: CoreSchema, handler: GetCoreSchemaHandler) -> None:
    """Make the schema of one class say what the module's docstring promises, in place."""
    around = cast(cs.ModelSchema, schema)
    while around["schema"]["type"] != "model-fields":
        # Validators that a subclass may define stand around the model or around its fields.
        around = cast(cs.ModelSchema, around["schema"])
    fields = cast(cs.ModelFieldsSchema, around["schema"])
    for name, member in fields["fields"].items():
        field = cls.model_fields[name]
        stop_at_first(member["schema"], handler.resolve_ref_schema)
        if member["schema"]["type"] != "default":
            continue
        default = cast(cs.WithDefaultSchema, member["schema"])
        if _is_implied(field):
            member["schema"] = default["schema"]
        elif _absent_if_none(field) and default["schema"]["type"] == "nullable":
            default["schema"] = cast(cs.NullableSchema, default["schema"])["schema"]
            member["serialization_exclude_if"] = _IS_NONE
    if wire_names := getattr(cls, "ANY_OF_REQUIRED", ()):
        check = _any_of(cls, wire_names)
        around["schema"] = cs.no_info_after_validator_function(check, fields)


def _any_of(cls: type[WireModel], wire_names: tuple[str, ...]) -> Callable[[_Members], _Members]:
    names = frozenset(
        name for name, field in cls.model_fields.items() if (field.alias or name) in wire_names
    )
    context = {"members": ", ".join(wire_names)}

    def check(members: _Members) -> _Members:
        if names.isdisjoint(members[2]):
            raise PydanticCustomError(
                "any_of_required", "At least one of {members} is required", context
            )
        return members

    return check


_validators: dict[Any, Validate] = {}


def validator_of(expression: Any) -> Validate:
    """A function that reads decoded JSON as a model, a union or any other type.

    Built once per expression, whichever thread asks first. The function raises
    `pydantic.ValidationError`; this one `TypeError` if `expression` cannot be hashed.
    """
    validate = _validators.get(expression)
    if validate is None:
        with BUILDING:
            validate = _validators[expression] = _build_validator(expression)
    return validate


def _build_validator(expression: Any) -> Validate:
    if isinstance(expression, type) and issubclass(expression, WireModel):
        expression.model_rebuild()
        validator = expression.__pydantic_validator__
    else:
        adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, expression), config=_STRICT)
        validator = adapter.validator
    return validator.validate_python
