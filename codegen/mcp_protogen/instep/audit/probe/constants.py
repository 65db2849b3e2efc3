"""The constants of an SDK's modules: numbers, strings, and names of methods."""

import enum
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any, cast

_DEPTH = 3


def constants(modules: list[ModuleType]) -> list[dict[str, Any]]:
    """Return numbers and strings with names in capitals, and values that have a `code`."""
    found: list[dict[str, Any]] = []
    for module in modules:
        for name, value in sorted(vars(module).items()):
            if name.startswith("__") or name != name.upper():
                continue
            with suppress(Exception):  # proxies may raise anything, and are not constants
                code = _plain(getattr(value, "code", value))
                if code is not None:
                    found.append({"name": name, "value": code, "module": module.__name__})
    return found


def find_methods(modules: list[ModuleType], wanted: list[str]) -> list[str]:
    """Return the wanted methods that occur in constants, tables and enumerations of the modules."""
    found: set[str] = set()
    for module in modules:
        for name, value in vars(module).items():
            if not name.startswith("__"):
                with suppress(Exception):  # as above
                    found.update(_texts(value, _DEPTH))
    return sorted(found & set(wanted))


def tables(modules: list[ModuleType], methods: list[str]) -> list[dict[str, Any]]:
    """Return the mappings by method whose values are not plain data.

    Their keys are all methods, perhaps with a revision. A table with plain data describes some
    methods; it does not list them all.
    """
    found: dict[int, dict[str, Any]] = {}
    for module in modules:
        for name, value in vars(module).items():
            if not name.startswith("__"):
                with suppress(Exception):  # as above
                    rows = _rows(value, set(methods))
                    if rows:
                        found.setdefault(id(value), {"module": module.__name__, "rows": rows})
    return list(found.values())


def _rows(value: Any, methods: set[str]) -> list[list[str]]:
    if not isinstance(value, Mapping):
        return []
    keys: list[Any] = [*value.keys()]
    values: list[Any] = [*value.values()]
    rows = [list(_texts(key, 1)) for key in keys]
    is_table = all(methods & set(row) for row in rows)
    return rows if is_table and not all(map(_is_data, values)) else []


def _is_data(value: Any) -> bool:
    if value is None or isinstance(value, (str, int, float)):
        return True
    return isinstance(value, (Mapping, list, tuple, set, frozenset)) and all(
        map(_is_data, _items(value))
    )


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value
    items = _items(value)
    return sorted(items) if items and all(isinstance(item, str) for item in items) else None


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        yield value
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        yield from (str(member.value) for member in value)
    elif depth:
        for item in _items(value):
            yield from _texts(item, depth - 1)


def _items(value: Any) -> list[Any]:
    """Return the items of a container, including the keys of a mapping."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(cast("list[Any]", value))
    return []
