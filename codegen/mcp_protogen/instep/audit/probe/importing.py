"""Imports of an SDK: the named modules, all below them, and those its messages come from.

An audit is about messages. A package without its own messages, such as a framework or an adapter,
has them from another one. Then the types of that one are audited, and not the package's own
classes of the same names.
"""

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

# Importing these runs something.
_NOT_IMPORTED = frozenset({"__main__", "conftest", "setup", "tests", "test", "testing"})
# One or two messages may be an example; a protocol has more.
_PROTOCOL = 3


class ImportedModules(NamedTuple):
    """The modules of an SDK, and the errors of those that could not be imported."""

    modules: list[ModuleType]
    skipped: list[dict[str, str]]


def import_sdk(job: dict[str, Any]) -> ImportedModules:
    """Import the modules that `job` names, from its folders first.

    Modules below them that fail are left out and reported; at least one of the named ones must
    work.
    """
    sys.path[:0] = job["path"]
    found = ImportedModules([], [])
    take(job["modules"], found)
    return found


def take(names: Iterable[str], found: ImportedModules) -> None:
    """Import further modules, and all below them."""
    for name in names:
        module = _import_module(name, found.skipped)
        if module is not None:
            _take(module, found)


def message_packages(
    types: dict[str, dict[str, Any]], found: ImportedModules, job: dict[str, Any]
) -> list[str]:
    """Return the modules of other packages whose messages an SDK exchanges.

    The list is empty if the SDK has its own messages. The modules define types that the SDK
    refers to, and have messages; an SDK with more messages of its own than it refers to there
    does not count. `types` are those of a catalogue. A private module stands for its package.
    """
    own = {module.__name__ for module in found.modules}
    counts: dict[str, int] = {}
    for key, entry in types.items():
        module = key.partition(":")[0]
        place = "" if module in own else module
        counts[place] = counts.get(place, 0) + _is_message(entry, job)
    here = counts.pop("", 0)
    packages = {
        _public(module)
        for module, referred in counts.items()
        if max(referred, _messages_in(module, job)) >= _PROTOCOL
        and (here < _PROTOCOL or here <= referred)
    }
    return sorted(packages)


def _is_message(entry: dict[str, Any], job: dict[str, Any]) -> bool:
    names, methods = entry["names"], _constants(entry, "method")
    return not (methods.isdisjoint(job["methods"]) and set(names).isdisjoint(job["messages"]))


def _messages_in(module: str, job: dict[str, Any]) -> int:
    """Return how many classes with names of messages a module defines."""
    namespace = getattr(sys.modules.get(module), "__dict__", {})
    named = [namespace[name] for name in job["messages"] if isinstance(namespace.get(name), type)]
    return sum(cls.__module__ == module for cls in named)


def _constants(entry: dict[str, Any], wire: str) -> set[str]:
    types = [member["type"] for member in entry.get("members", ()) if member["wire"] == wire]
    return {
        value for type_ in types for value in type_.get("literal", ()) if isinstance(value, str)
    }


def _public(module: str) -> str:
    parts = module.split(".")
    while len(parts) > 1 and parts[-1].startswith("_"):
        parts.pop()
    return ".".join(parts)


def _take(module: ModuleType, found: ImportedModules) -> None:
    if module in found.modules:
        return
    found.modules.append(module)
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if info.name in _NOT_IMPORTED or info.name.startswith("test_"):
            continue
        below = _import_module(f"{module.__name__}.{info.name}", found.skipped)
        if below is not None:
            _take(below, found)


def _import_module(name: str, skipped: list[dict[str, str]]) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may call sys.exit when it is imported
        skipped.append({"module": name, "kind": _kind(error, name), "error": last_line(error)})
        return None


def _kind(error: BaseException, name: str) -> str:
    if isinstance(error, SystemExit):
        return "exits"
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        wanted = name == error.name or name.startswith(f"{error.name}.")
        return "not-found" if wanted else "fails"
    return "fails"


def last_line(error: BaseException) -> str:
    """Return the last line of the traceback, and the place of the error."""
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and frame.filename != importlib.__file__
    ]
    where = frames[-1] if frames else None
    if where is None or where.filename == __file__:
        return text
    return f"{text} ({where.filename}, line {where.lineno})"
