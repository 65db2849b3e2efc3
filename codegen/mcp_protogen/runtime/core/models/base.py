"""Models that accept what the JSON Schema accepts, and are convenient in Python.

Pydantic has one notion of "optional". A JSON Schema has three: a member may be absent, null, or
both.

* A constant (`type: Literal["text"] = "text"`), and any member marked `Implied`, is required on the
  wire and filled in for callers.
* `None` in an optional member that may not be null means absent; a null from the wire is invalid.
* A member marked `Nullable`, one of type `Any`, and undeclared members keep an explicit null.
"""

from collections.abc import Callable, Mapping
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, SchemaValidator, to_json
from pydantic_core import core_schema as cs

from ..json import is_array, is_object, read_json
from ..value_paths import NOWHERE, USUAL_PLACES, ToolPlaces, ValuePath, find
from .core_schema import absent_if_none, adjust, by_reference, is_constant, is_implied

# Pydantic builds a class at its first use, in any thread: all builds share this lock.
BUILDING: Final = RLock()

# Classes that are being built. A class builds the classes it refers to first, each only once, so
# that instances are written by their own class.
_under_way: dict[type["WireModel"], None] = {}
_MOST_UNDER_WAY, _MOST_WITHIN = 10, 200  # Python nests 50 calls for a build under way.

_STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)

# Pydantic has no option against NaN and infinities in members of type `Any`.
_NO_NUMBERS: Final = SchemaValidator(cs.str_schema(pattern="NaN|Infinity"))

Validate: TypeAlias = Callable[[Any], Any]

SUPPLIED: Final[Any] = object()
"""The default of an object member: an immutable object of default values."""


class _Shape(NamedTuple):
    implied: tuple[tuple[str, str, Any], ...]  # name, wire name, value
    absent_if_none: frozenset[str]  # wire names and Python names
    optional: frozenset[str]  # the Python names in `absent_if_none`
    names: Mapping[str, str]  # Python names by wire name, if they differ
    validate: Callable[..., Any]


class WireModel(BaseModel):
    """A JSON object of the protocol.

    Undeclared members are kept. Types are not coerced: `"1"` and `true` are not integers. Only the
    constructor accepts Python names as well as wire names.
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

    _size: ClassVar[int] = 1  # models within it
    # Pydantic would evaluate the annotation again for each subclass.
    if TYPE_CHECKING:
        ANY_OF_REQUIRED: ClassVar[tuple[str, ...]]
        """Wire names of which at least one must be present; most classes have none."""

    @classmethod
    def from_wire(cls, value: Any) -> Self:
        """Read a decoded JSON value; raise `pydantic.ValidationError`."""
        return cls.model_validate(value)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read JSON text; raise `pydantic.ValidationError`, also for NaN and infinities.

        The last of duplicate members counts.
        """
        read: Callable[[bytes | str], Self] = cls.__pydantic_validator__.validate_json
        if not _NO_NUMBERS.isinstance_python(data):
            try:
                return read(data)
            except ValidationError:
                pass  # The error may be in the first of two duplicates, which does not count.
        try:
            value = read_json(data.encode() if isinstance(data, str) else data)
        except ValueError as error:
            context = {"error": str(error)}
            line: InitErrorDetails = {"type": "json_invalid", "input": data, "ctx": context}
            raise ValidationError.from_exception_data(cls.__name__, [line], "json") from None
        # As text again: a class may read members of JSON text differently.
        return read(to_json(value))

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object to send, as a dictionary of JSON values."""
        wire: dict[str, Any] = self.__pydantic_serializer__.to_python(
            self, mode="json", by_alias=True, exclude_unset=True
        )
        return wire

    def to_json(self) -> bytes:
        """Return the JSON object to send, as UTF-8 text, with null for NaN and infinities.

        Raise `pydantic_core.PydanticSerializationError` for a value that JSON lacks.
        """
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_unset=True)

    # Type checkers take these signatures from the fields and BaseModel.
    if not TYPE_CHECKING:

        def __init__(self, /, **members: Any) -> None:
            implied, absent_if_none, _, _, validate = shape_of(type(self))
            for name, wire_name, value in implied:
                if members.get(name, SUPPLIED) is SUPPLIED and wire_name not in members:
                    members[name] = value
            for name, value in tuple(members.items()):
                if value is None and name in absent_if_none:
                    del members[name]
            try:
                validate(members, self_instance=self, by_name=True)
            except ValidationError as error:
                if any(type(line["input"]) is type(self) for line in error.errors()):
                    raise TypeError(f"pass {error.title} to request(methods.NAME, …)") from None
                raise

        # Without this mark Pydantic would call __init__ for every object it reads, which is slow
        # and would also fill in constants that are missing on the wire.
        __init__.__pydantic_base_init__ = True

        @property
        def model_fields_set(self) -> set[str]:
            names = self.__pydantic_fields_set__
            namesakes = _namesakes(self) & shape_of(type(self)).optional
            absent = {name for name in namesakes if self.__dict__.get(name) is None}
            return names - absent if absent else names

        def __setattr__(self, name: str, value: Any) -> None:
            _refuse_if_shared(self)
            shape = shape_of(type(self))
            if name in shape.names:
                raise AttributeError(f"{name} is called {shape.names[name]} in Python")
            if value is None and name in shape.optional:
                _leave_out(self, name)
                return
            # Pydantic checks an assignment with declared and undeclared members in one dictionary.
            extra = self.__pydantic_extra__
            namesakes = {name: extra.pop(name) for name in _namesakes(self)}
            try:
                super().__setattr__(name, value)
            finally:
                if namesakes:
                    self.__pydantic_extra__.update(namesakes)

        def __delattr__(self, name: str) -> None:
            _refuse_if_shared(self)
            field = type(self).__pydantic_fields__.get(name)
            if field is not None and field.default is None:
                _leave_out(self, name)
            else:
                super().__delattr__(name)

        def model_copy(
            self, *, update: Mapping[str, Any] | None = None, deep: bool = False
        ) -> Self:
            if update is not None:
                names = shape_of(type(self)).names
                update = {names.get(name, name): value for name, value in update.items()}
            return super().model_copy(update=update, deep=deep)

        @classmethod
        def model_construct(cls, _fields_set: set[str] | None = None, **members: Any) -> Self:
            shape = shape_of(cls)
            if _fields_set is not None:
                _fields_set = _fields_set | {name for name, _, _ in shape.implied}
            defaults = {
                name: value for name, wire_name, value in shape.implied if wire_name not in members
            }
            for name, value in members.items():
                if value is not None or name not in shape.absent_if_none:
                    defaults[name] = value
            return super().model_construct(_fields_set, **defaults)

        def model_dump(self, **options: Any) -> dict[str, Any]:
            return super().model_dump(**{"exclude_unset": True, **options})

        def model_dump_json(self, **options: Any) -> str:
            return super().model_dump_json(**{"exclude_unset": True, **options})

        @classmethod
        def model_rebuild(cls, *, _parent_namespace_depth: int = 2, **options: Any) -> bool | None:
            depth, build = _parent_namespace_depth + 1, super().model_rebuild
            with BUILDING:
                _under_way[cls] = None
                try:
                    return build(_parent_namespace_depth=depth, **options)
                finally:
                    _under_way.pop(cls, None)
                    cls.__signature__ = _SIGNATURE  # replaces Pydantic's, which has wire names

        @classmethod
        def __get_pydantic_core_schema__(
            cls, source: Any, handler: GetCoreSchemaHandler, /
        ) -> CoreSchema:
            with BUILDING:
                if cls not in _under_way:
                    if len(_under_way) >= _MOST_UNDER_WAY and not cls.__pydantic_complete__:
                        return by_reference(cls)
                    cls.model_rebuild(raise_errors=False)
                    if cls._size > _MOST_WITHIN:
                        return by_reference(cls)
                    for outer in list(_under_way)[-1:]:
                        outer._size += cls._size
                schema = handler(source)
                if not cls.__pydantic_complete__:
                    resolve = handler.resolve_ref_schema
                    adjust(cls, resolve(schema), resolve)
            return schema


class _OnDemand:
    # An attribute of model classes, computed by a function of the module `members`.

    def __init__(self, function: str) -> None:
        self._function = function

    def __get__(self, model: WireModel | None, cls: type[WireModel]) -> Any:
        if model is not None and self._function == "signature":
            raise AttributeError(self._function)  # the instance itself is not callable
        from . import members

        return getattr(members, self._function)(cls)


if not TYPE_CHECKING:
    # In the class body, Pydantic would treat them as fields.
    WireModel.__signature__ = _SIGNATURE = _OnDemand("signature")
    WireModel.model_fields = _OnDemand("describe_fields")

_shared: dict[type, WireModel] = {}


def is_supplied(value: object) -> bool:
    """Return whether a value is a shared default object (`SUPPLIED`)."""
    return value is not None and _shared.get(type(value)) is value


def _refuse_if_shared(model: WireModel) -> None:
    if is_supplied(model):
        name = type(model).__name__
        raise AttributeError(f"this {name} is a shared default: pass your own {name} to change it")


def _leave_out(model: WireModel, name: str) -> None:
    vars(model)[name] = None
    model.__pydantic_fields_set__.discard(name)


def _namesakes(model: WireModel) -> set[str]:
    # Undeclared members, called on the wire as declared ones are in Python.
    return (model.__pydantic_extra__ or {}).keys() & type(model).__pydantic_fields__.keys()


def declared_member(model: object, name: str) -> Any:
    """Return the declared member with the Python name `name`; None if absent or undeclared."""
    return model.__dict__.get(name) if isinstance(model, WireModel) else None


def required_members(cls: type[WireModel]) -> dict[str, Any]:
    """Return the members required on the wire: their constants, or `SUPPLIED`."""
    return {
        field.alias or name: field.default if is_constant(field) else SUPPLIED
        for name, field in cls.__pydantic_fields__.items()
        if field.is_required() or is_implied(field)
    }


@cache
def shape_of(cls: type[WireModel]) -> _Shape:
    # The build resolves annotations that name classes defined further down.
    cls.model_rebuild()
    implied: list[tuple[str, str, Any]] = []
    optional: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for name, field in cls.__pydantic_fields__.items():
        wire_name, default = field.alias or name, field.default
        if wire_name != name:
            renamed[wire_name] = name
        if is_implied(field):
            if default is SUPPLIED:
                model: Any = field.annotation
                # Texts that the connection knows, such as names.
                members = model.__pydantic_fields__.items()
                texts = {key: "" for key, member in members if member.is_required()}
                with BUILDING:
                    default = _shared[model] = _shared.get(model) or model(**texts)
            implied.append((name, wire_name, default))
        elif absent_if_none(field):
            optional[name] = wire_name
    names = frozenset(optional)
    validate = cls.__pydantic_validator__.validate_python
    return _Shape(tuple(implied), names.union(optional.values()), names, renamed, validate)


@cache
def validator_of(expression: Any) -> Validate:
    """Return a function that reads decoded JSON as any type and raises `ValidationError`."""
    with BUILDING:
        if isinstance(expression, type) and issubclass(expression, WireModel):
            expression.model_rebuild()
            return expression.__pydantic_validator__.validate_python
        from pydantic import TypeAdapter  # few packages need it

        return TypeAdapter[Any](cast(Any, expression), config=_STRICT).validator.validate_python


class ToolResult(WireModel):
    """A result with content, perhaps structured."""

    if TYPE_CHECKING:
        PLACES: ClassVar[ToolPlaces]

    @property
    def text(self) -> str:
        """The text blocks, joined with line breaks."""
        return text_of(self)

    @property
    def data(self) -> Any:
        """The structured content as received, or None."""
        return member_at(self, self.PLACES.structured)


ToolResult.PLACES = USUAL_PLACES


def places_of(model: type) -> ToolPlaces:
    """Return the places in results of a class; those of decoded JSON are the usual ones."""
    places: ToolPlaces = getattr(model, "PLACES", USUAL_PLACES if model is dict else NOWHERE)
    return places


def member_at(owner: object, path: ValuePath | None, absent: object = None) -> Any:
    """Return the value at a path in a model or decoded JSON; by default `absent`."""
    if not path:
        return absent
    if isinstance(owner, WireModel):
        if len(path) == 1:
            wire: Any = path[0]
            name = shape_of(type(owner)).names.get(wire, wire)
            value = owner.__dict__.get(name)
            is_known = value is not None or absent is None
            return value if is_known or name in owner.model_fields_set else absent
        owner = owner.to_wire()
    try:
        return find(owner, path)
    except LookupError:
        return absent


def has_failed(result: object) -> bool:
    return member_at(result, places_of(type(result)).error) is True


def text_of(result: object) -> str:
    content, structured, _ = places_of(type(result))
    value = member_at(result, content or structured)
    blocks = value if is_array(value) else []
    texts = [_member(block, "text") for block in blocks if _member(block, "type") == "text"]
    if content is None and not texts and value is not None:
        return value if isinstance(value, str) else to_json(value).decode()
    return "\n".join(text for text in texts if isinstance(text, str))


def _member(owner: object, name: str) -> Any:
    return owner.get(name) if is_object(owner) else declared_member(owner, name)
