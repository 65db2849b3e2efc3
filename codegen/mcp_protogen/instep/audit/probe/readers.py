"""Readers of JSON values as types of the SDK, which also write them as the SDK does.

The user chooses the members to leave out (`written`): Pydantic itself leaves out nothing; most SDKs
leave out members that are None. A class with its own `model_dump` or `to_dict` writes itself.
"""

import json
import typing
import warnings
from typing import Any, NamedTuple

from . import class_members as members
from .catalogue import ModelCatalogue
from .structure import fault

NOTHING: Any = object()
_LEFT_OUT: dict[str, dict[str, bool]] = {
    "none": {"exclude_none": True},
    "unset": {"exclude_unset": True},
    "all": {},
}


class Read(NamedTuple):
    """The result of reading: `error` is empty if the value was accepted, `value` is the output."""

    error: str
    value: Any = NOTHING


class Readers:
    """Readers of an SDK's types, or of a choice between several; each is made on first use."""

    def __init__(self, catalogue: ModelCatalogue, written: str) -> None:
        self._catalogue = catalogue
        self._left_out = _LEFT_OUT[written]
        self._adapters: dict[tuple[str, ...], Any] = {}

    def read(self, keys: tuple[str, ...], value: Any) -> Read | None:
        """Read a value as one of the types; None if that cannot be tried."""
        objects = [self._catalogue.objects.get(key, NOTHING) for key in keys]
        if NOTHING in objects:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = [item for item in objects if hasattr(item, "from_dict")]
            if len(own) == len(objects):
                return _by_own_means(own, value)
            adapter = self._adapter(keys, objects)
            if adapter is not None:
                return self._by_pydantic(adapter, value, objects)
        return self._by_structure(keys, value)

    def _adapter(self, keys: tuple[str, ...], objects: list[Any]) -> Any:
        if keys not in self._adapters:
            self._adapters[keys] = self._new_adapter(keys, objects)
        return self._adapters[keys]

    def _new_adapter(self, keys: tuple[str, ...], objects: list[Any]) -> Any:
        library = members.pydantic()
        flavours = {self._catalogue.types[key].get("flavour", "") for key in keys}
        if library is None or not hasattr(library, "TypeAdapter") or "dataclass" in flavours:
            return None  # a plain dataclass may not have the wire names
        try:
            return library.TypeAdapter(typing.Union[tuple(objects)])  # noqa: UP007
        except Exception:  # no schema can be made of it: compare its structure
            return None

    def _by_pydantic(self, adapter: Any, value: Any, objects: list[Any]) -> Read:
        model: Any
        try:
            model = adapter.validate_python(value)
        except Exception as error:  # validators of the SDK may raise anything
            model = _from_json(adapter, value, objects)
            if model is NOTHING:
                return Read(_error_text(error))
        if isinstance(model, dict):
            return Read("")  # a typed dictionary may be any part of the given value
        try:
            return Read("", self._dump(adapter, model))
        except Exception as error:  # serializers of the SDK may raise anything, too
            return Read(f"read, but cannot be written: {_error_text(error)}")

    def _dump(self, adapter: Any, model: Any) -> Any:
        if _writes_itself(model):
            return model.model_dump(mode="json", by_alias=True)
        return adapter.dump_python(model, mode="json", by_alias=True, **self._left_out)

    def _by_structure(self, keys: tuple[str, ...], value: Any) -> Read:
        arms = {"union": [{"ref": key} for key in keys]}
        return Read(fault(value, arms, self._catalogue.types))


def _writes_itself(model: Any) -> bool:
    """Return whether its class has its own way to be written."""
    own = getattr(model.__class__, "model_dump", None)
    return own is not None and not own.__module__.startswith("pydantic")


def _from_json(adapter: Any, value: Any, objects: list[Any]) -> Any:
    """Return the value read from JSON text, which some strict types require."""
    if not any(getattr(item, "model_config", {}).get("strict") for item in objects):
        return NOTHING
    try:
        return adapter.validate_json(json.dumps(value))
    except Exception:  # it was refused before, and still is
        return NOTHING


def _by_own_means(objects: list[Any], value: Any) -> Read:
    error = ""
    for item in objects:
        try:
            made = item.from_dict(value)
            return Read("", made.to_dict()) if hasattr(made, "to_dict") else Read("")
        except Exception as raised:  # a class may refuse with any exception
            error = error or _error_text(raised)
    return Read(error)


def _error_text(error: Exception) -> str:
    """Return the SDK's own message, on one line."""
    errors = getattr(error, "errors", None)
    if callable(errors):
        lines: list[str] = []
        for line in typing.cast("list[dict[str, Any]]", errors(include_url=False))[:3]:
            lines.append(f"{'.'.join(map(str, line['loc']))}: {_message_of(line)}")
        return "; ".join(lines)
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _message_of(line: dict[str, Any]) -> str:
    """Return the message without the words that Pydantic puts before that of a validator."""
    if line.get("type") in ("value_error", "assertion_error"):
        return str(line.get("ctx", {}).get("error", "")) or "not valid"
    return str(line["msg"])
