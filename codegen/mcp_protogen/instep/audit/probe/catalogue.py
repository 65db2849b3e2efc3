"""All types of an SDK: those in its modules, and those that these refer to."""

import enum
import inspect
import typing
from contextlib import suppress
from types import ModuleType
from typing import Any

from . import class_members as members
from .expressions import expression, is_union, name_of, plain

_SCALARS = (str, int, float, bool, dict, list)


class ModelCatalogue:
    """Types by key, `module:name`: as JSON in `types`, and themselves in `objects`."""

    def __init__(self, modules: list[ModuleType]) -> None:
        self.types: dict[str, dict[str, Any]] = {}
        self.objects: dict[str, Any] = {}
        self._keys: dict[int, str] = {}
        self._aliases: dict[tuple[str, int], list[str]] = {}
        for module in modules:
            for name, value in sorted(vars(module).items()):
                if not name.startswith("__"):
                    with suppress(Exception):  # proxies may raise anything, and are not types
                        self._see(module.__name__, name, value)

    def _see(self, module: str, name: str, value: Any) -> None:
        """Enter the value of a module's name, if it is a type."""
        key = self._refer(value)
        if key is not None:
            entry = self.types[key]
            if name not in entry["names"] and not typing.get_args(value):
                entry["names"].append(name)
            if module not in entry["seen_in"]:
                entry["seen_in"].append(module)
        elif _is_alias(name, value) and not self._is_known(module, name, value):
            key = self._enter(f"{module}:{name}", value, "alias", [name])
            self.types[key]["seen_in"].append(module)
            self.types[key]["type"] = self._express(value)

    def _is_known(self, module: str, name: str, value: Any) -> bool:
        """Return whether a package or a module inside it has this alias already.

        Equal aliases are often one object, above all `str`. They are distinguished by their names,
        and by the modules that define them.
        """
        known = self._aliases.setdefault((name, id(value)), [])
        for earlier in known:
            if f"{module}.".startswith(f"{earlier}.") or f"{earlier}.".startswith(f"{module}."):
                return True
        known.append(module)
        return False

    def _express(self, annotation: Any) -> dict[str, Any]:
        return expression(annotation, self._refer)

    def _refer(self, value: Any) -> str | None:
        """Return the key of a class, an enumeration or a named alias; None for anything else."""
        if id(value) in self._keys:
            return self._keys[id(value)]
        if typing.get_args(value) or _is_library(value):
            return None
        kind = members.flavour(value)
        if kind is not None:
            return self._class(value, kind)
        if inspect.isclass(value) and issubclass(value, enum.Enum):
            return self._enumeration(value)
        if type(value).__name__ == "TypeAliasType" and not getattr(value, "__type_params__", ()):
            key = self._enter_referenced(_key(value), value, "alias", [name_of(value)])
            self.types[key]["type"] = self._express(getattr(value, "__value__", Any))
            return key
        return None

    def _class(self, cls: Any, kind: str) -> str:
        key = self._enter_referenced(
            _key(cls), cls, "alias" if kind == "root" else "object", [cls.__name__]
        )
        entry = self.types[key]
        # A class may refer to itself: it has its key before its members are read.
        entry["flavour"] = kind
        if kind == "root":
            entry["type"] = self._express(members.root_type(cls))
            return key
        entry["extra"] = members.extra(cls, kind)
        entry["bases"] = [_key(base) for base in cls.__mro__[1:] if members.flavour(base)]
        entry["members"] = members.members(cls, kind, self._express)
        return key

    def _enumeration(self, cls: Any) -> str:
        key = self._enter_referenced(_key(cls), cls, "enum", [cls.__name__])
        self.types[key]["values"] = [plain(member) for member in cls]
        self.types[key]["labels"] = [member.name for member in cls]
        return key

    def _enter_referenced(self, key: str, value: Any, kind: str, names: list[str]) -> str:
        entered = self._keys[id(value)] = self._enter(key, value, kind, names)
        return entered

    def _enter(self, key: str, value: Any, kind: str, names: list[str]) -> str:
        count = 1
        unique = key
        while unique in self.types:
            count += 1
            unique = f"{key}#{count}"
        self.objects[unique] = value
        self.types[unique] = {"kind": kind, "names": names, "seen_in": []}
        return unique


def _key(value: Any) -> str:
    module = getattr(value, "__module__", "") or ""
    return f"{module}:{getattr(value, '__qualname__', name_of(value))}"


def _is_library(value: Any) -> bool:
    """Return whether it belongs to Python or Pydantic, and so to no protocol."""
    module = str(getattr(value, "__module__", "") or "").split(".")[0]
    return module in ("builtins", "typing", "typing_extensions", "pydantic", "enum", "dataclasses")


def _is_alias(name: str, value: Any) -> bool:
    """Return whether a variable is a type alias: `Role = Literal[...]`, `Cursor = str`."""
    if is_union(value) or hasattr(value, "__metadata__"):
        return True
    if name_of(typing.get_origin(value)) == "Literal":
        return True
    constructed = value in _SCALARS if isinstance(value, type) else bool(typing.get_args(value))
    return constructed and name[:1].isupper() and not name.isupper()
