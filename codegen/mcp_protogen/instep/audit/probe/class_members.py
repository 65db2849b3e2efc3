"""The members of a class: their wire names, types, defaults, and which ones are required.

There is one function for each kind of class: Pydantic (2, and the basics of 1), dataclasses, typed
dictionaries.
"""

import dataclasses
import sys
import typing
import warnings
from collections.abc import Callable
from typing import Any

Express = Callable[[Any], dict[str, Any]]

_ALIAS_KEYS = ("alias", "wire", "name", "json")


def pydantic() -> Any:
    """Return the SDK's Pydantic, if it uses one."""
    return sys.modules.get("pydantic")


def flavour(cls: Any) -> str | None:
    """Return the kind of a class; None if it has no members that can be read."""
    if not isinstance(cls, type):
        return None
    library = pydantic()
    if library is not None and issubclass(cls, library.BaseModel) and hasattr(cls, "model_fields"):
        return "root" if issubclass(cls, getattr(library, "RootModel", ())) else "pydantic"
    if isinstance(getattr(cls, "__fields__", None), dict) and hasattr(cls, "__config__"):
        return "pydantic1"
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    if _has(cls, "__required_keys__") and _has(cls, "__total__"):
        return "typeddict"
    return None


def _has(cls: Any, name: str) -> bool:
    return hasattr(cls, name)


def members(cls: Any, kind: str, express: Express) -> list[dict[str, Any]]:
    """Return the members of a class of this kind, in its order."""
    return _READERS[kind](cls, express)


def extra(cls: Any, kind: str) -> str:
    """Return how the class treats undeclared members."""
    if kind == "pydantic":
        return str(cls.model_config.get("extra") or "ignore")
    if kind == "pydantic1":
        return str(getattr(cls.__config__.extra, "value", "ignore"))
    return "unknown"


def root_type(cls: Any) -> Any:
    """Return the type of a Pydantic root model."""
    return cls.model_fields["root"].annotation


def _of_pydantic(cls: Any, express: Express) -> list[dict[str, Any]]:
    # Fields that refer to later definitions are only complete after a rebuild.
    cls.model_rebuild(raise_errors=False)
    required = _find_required(cls)
    found: list[dict[str, Any]] = []
    for name, field in cls.model_fields.items():
        wire = _wire_name(name, field)
        needed = wire in required if required is not None else field.is_required()
        found.append(_member(wire, name, express(field.annotation), needed, field.default))
    return found


def _wire_name(name: str, field: Any) -> str:
    for alias in (field.serialization_alias, field.validation_alias, field.alias):
        if isinstance(alias, str):
            return alias
    return name


def _find_required(cls: Any) -> set[str] | None:
    """Return the required members by the validation schema; None if there is no such schema.

    A class may change its schema after its fields were collected, so that these may not show it.
    """
    library = pydantic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema = library.TypeAdapter(cls).json_schema(mode="validation")
    except Exception:  # a type without a JSON Schema, such as a callable: use the fields
        return None
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    return set(schema.get("required", ()))


def _of_pydantic_1(cls: Any, express: Express) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, field in cls.__fields__.items():
        type_ = express(field.outer_type_)
        if field.allow_none:
            type_ = {"union": [type_, {"scalar": "null"}]}
        found.append(_member(field.alias, name, type_, bool(field.required), field.default))
    return found


def _of_dataclass(cls: Any, express: Express) -> list[dict[str, Any]]:
    hints = _hints(cls)
    found: list[dict[str, Any]] = []
    for field in dataclasses.fields(cls):
        aliases = [field.metadata.get(key) for key in _ALIAS_KEYS]
        wire = next((alias for alias in aliases if isinstance(alias, str)), field.name)
        missing = dataclasses.MISSING
        needed = field.default is missing and field.default_factory is missing
        default = None if field.default is missing else field.default
        type_ = express(hints.get(field.name, Any))
        found.append(_member(wire, field.name, type_, needed, default))
    return found


def _of_typed_dict(cls: Any, express: Express) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, hint in _hints(cls).items():
        # Under postponed evaluation __required_keys__ has not seen the marks inside the strings.
        marks = {getattr(typing.get_origin(hint), "_name", "")}
        needed = name in cls.__required_keys__
        needed = (needed or "Required" in marks) and "NotRequired" not in marks
        found.append(_member(name, name, express(hint), needed, None))
    return found


def _hints(cls: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # a name that exists for type checkers alone: such members may be anything
        return dict.fromkeys(getattr(cls, "__annotations__", {}), Any)


def _member(
    wire: str, name: str, type_: dict[str, Any], required: bool, default: Any
) -> dict[str, Any]:
    known = isinstance(default, (str, int, float)) and not required
    return {
        "wire": wire,
        "name": name,
        "type": type_,
        "required": required,
        "default": default if known else None,
    }


_READERS: dict[str, Callable[[Any, Express], list[dict[str, Any]]]] = {
    "pydantic": _of_pydantic,
    "pydantic1": _of_pydantic_1,
    "dataclass": _of_dataclass,
    "typeddict": _of_typed_dict,
}
