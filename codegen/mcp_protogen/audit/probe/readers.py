"""Reads a JSON value with a type of the target, and writes it back as the target would.

What the target writes with is a choice (`written`): Pydantic leaves nothing out by itself, SDKs
mostly leave out what is None. A class that brings its own `model_dump`, or `to_dict`, is asked.
"""

import json
import typing
import warnings
from typing import Any, NamedTuple

from . import members
from .catalogue import Catalogue
from .structure import fault

NOTHING: Any = object()
_LEFT_OUT: dict[str, dict[str, bool]] = {
    "none": {"exclude_none": True},
    "unset": {"exclude_unset": True},
    "all": {},
}


class Read(NamedTuple):
    """What came of reading: `error` is empty if it was accepted, `value` what it writes."""

    error: str
    value: Any = NOTHING


class Readers:
    """A reader for each of a target's types, or for a choice between several, made on first use."""

    def __init__(self, catalogue: Catalogue, written: str) -> None:
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
            return None  # a plain dataclass may have other names than the wire
        try:
            return library.TypeAdapter(typing.Union[tuple(objects)])  # noqa: UP007
        except Exception:  # no schema can be made of it, so that structure has to do
            return None

    def _by_pydantic(self, adapter: Any, value: Any, objects: list[Any]) -> Read:
        model: Any
        try:
            model = adapter.validate_python(value)
        except Exception as error:  # validators of the target may raise what they like
            model = _from_json(adapter, value, objects)
            if model is NOTHING:
                return Read(_words(error))
        if isinstance(model, dict):
            return Read("")  # of a typed dictionary: it may be any part of what was given
        try:
            return Read("", self._written(adapter, model))
        except Exception as error:  # serializers of the target may raise what they like, too
            return Read(f"read, but cannot be written: {_words(error)}")

    def _written(self, adapter: Any, model: Any) -> Any:
        if _writes_itself(model):
            return model.model_dump(mode="json", by_alias=True)
        return adapter.dump_python(model, mode="json", by_alias=True, **self._left_out)

    def _by_structure(self, keys: tuple[str, ...], value: Any) -> Read:
        arms = {"union": [{"ref": key} for key in keys]}
        return Read(fault(value, arms, self._catalogue.types))


def _writes_itself(model: Any) -> bool:
    """Whether its class brings its own way to be written."""
    own = getattr(model.__class__, "model_dump", None)
    return own is not None and not own.__module__.startswith("pydantic")


def _from_json(adapter: Any, value: Any, objects: list[Any]) -> Any:
    """The value read as JSON text, which strict types with dates or enumerations insist on."""
    if not any(getattr(item, "model_config", {}).get("strict") for item in objects):
        return NOTHING
    try:
        return adapter.validate_json(json.dumps(value))
    except Exception:  # it was refused before, and stays so
        return NOTHING


def _by_own_means(objects: list[Any], value: Any) -> Read:
    error = ""
    for item in objects:
        try:
            made = item.from_dict(value)
            return Read("", made.to_dict()) if hasattr(made, "to_dict") else Read("")
        except Exception as raised:  # how a class refuses is its own affair
            error = error or _words(raised)
    return Read(error)


def _words(error: Exception) -> str:
    """The target's own words, in one line."""
    errors = getattr(error, "errors", None)
    if callable(errors):
        lines: list[str] = []
        for line in typing.cast("list[dict[str, Any]]", errors(include_url=False))[:3]:
            lines.append(f"{'.'.join(map(str, line['loc']))}: {_message_of(line)}")
        return "; ".join(lines)
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _message_of(line: dict[str, Any]) -> str:
    """The message, without the words that Pydantic puts before what a validator says."""
    if line.get("type") in ("value_error", "assertion_error"):
        return str(line.get("ctx", {}).get("error", "")) or "not valid"
    return str(line["msg"])
