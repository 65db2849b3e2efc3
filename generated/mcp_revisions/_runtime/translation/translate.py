"""Translation as a plain function, for single values without a connection."""

from importlib import import_module
from types import ModuleType
from typing import Any

from ..core.json import is_array
from ..core.losses import Translated
from ..core.models.base import WireModel, validator_of
from .translator import Translator, module_name, translator


def translated(
    value: Any,
    package: str,
    source: str | ModuleType,
    target: str | ModuleType,
    type_name: str | None = None,
) -> Translated[Any]:
    """Translate a value; see `translate` of a generated package, whose name is `package`."""
    source_id, target_id = _id_of(source), _id_of(target)
    if isinstance(value, WireModel):
        name = _name_in(value, f"{package}.{module_name(source_id)}.models")
    elif type_name is None:
        raise TypeError("decoded JSON does not name its type: pass type=…")
    else:
        name = type_name
    if source_id == target_id:
        return Translated(value)
    found = translator(package, source_id, target_id)
    if not isinstance(value, WireModel):
        return found.translate(value, name)
    models = import_module(f"{package}.{module_name(target_id)}.models")
    if found.of_type(name) is None:
        return Translated(_retyped(value, found, models))
    outcome = found.translate(value.to_wire(), name)
    made: Any = getattr(models, found.becomes(name))
    return Translated(validator_of(made)(outcome.value), outcome.losses)


def _id_of(revision: str | ModuleType) -> str:
    if isinstance(revision, str):
        return revision
    named: str = revision.methods.REVISION
    return named


def _name_in(value: WireModel, module: str) -> str:
    """Return the name of the model class in `module` that `value` is an instance of."""
    for cls in type(value).__mro__:
        if cls.__module__ == module:
            return cls.__name__
    raise TypeError(f"{type(value).__name__} is not a model of {module}")


def _retyped(value: Any, found: Translator, models: ModuleType) -> Any:
    """Return the same members in the target's classes, in which they are valid as well."""
    if isinstance(value, WireModel):
        cls: type[WireModel] = getattr(models, found.becomes(type(value).__name__))
        members = {name: _retyped(one, found, models) for name, one in value.__dict__.items()}
        made = cls.__new__(cls)
        object.__setattr__(made, "__dict__", members)
        object.__setattr__(made, "__pydantic_fields_set__", set(value.model_fields_set))
        object.__setattr__(made, "__pydantic_extra__", value.model_extra)
        object.__setattr__(made, "__pydantic_private__", None)
        return made
    if is_array(value):
        return [_retyped(one, found, models) for one in value]
    return value
