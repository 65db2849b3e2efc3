"""A program that imports a generated package from memory; `trial` runs it.

It reads the generated modules, the revisions that the package names but does not have, and those to
connect. Its interpreter has only the standard library, and finds only the generated modules, the
installed runtime, and the folders of the runtime's dependencies: not the working directory or files
in it.
"""

import gc
import importlib
import json
import os
import sys
from collections.abc import Container, Generator
from contextlib import contextmanager
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location, spec_from_loader
from types import ModuleType
from typing import Any

_PACKAGE = "generated package"  # a name that no module of a runtime can have


class _GeneratedModules(MetaPathFinder, InspectLoader):
    """A finder and loader for modules as text, by their paths in the package."""

    def __init__(self, folder: str, runtime: str) -> None:
        self._folder = folder
        self.runtime = runtime
        self._paths: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._wrong: dict[str, str] = {}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of the package, its runtime, or a package above that."""
        if fullname == self.runtime:
            init, places = f"{self._folder}/__init__.py", [self._folder]
            return spec_from_file_location(fullname, init, submodule_search_locations=places)
        if fullname in self._paths:
            return spec_from_loader(fullname, self)
        is_above = self.runtime.startswith(f"{fullname}.")
        return ModuleSpec(fullname, None, is_package=True) if is_above else None

    def is_package(self, fullname: str) -> bool:
        """Return whether a module can have modules below it."""
        return self._paths[fullname].endswith("__init__.py")

    def get_source(self, fullname: str) -> str:
        """Return the text of a module."""
        return self._files[self._paths[fullname]]

    def import_all(self, files: dict[str, str], revisions: list[str]) -> dict[str, str]:
        """Import modules, and return the error of each one that cannot be imported, by path.

        The package also exports `revisions`, whose modules are in `files` or are kept elsewhere.
        """
        from pydantic import TypeAdapter

        self._files = files
        self._paths = {_module_name(path): path for path in files}
        # The package imports the others.
        for name in sorted(self._paths, reverse=True):
            with self._noting(name):
                exported = _exported_values(importlib.import_module(name), revisions)
                for model in exported if name.endswith(".models") else ():
                    # A class builds itself; an adapter of it would be built as well.
                    build = getattr(model, "model_rebuild", None)
                    (build or TypeAdapter(model).rebuild)()
        return dict(sorted(self._wrong.items()))

    @contextmanager
    def _noting(self, module: str) -> Generator[None, None, None]:
        try:
            yield
        except Exception as error:
            self._wrong[self._paths[module]] = f"{type(error).__name__}: {error}"


def _exported_values(module: ModuleType, left_out: Container[str]) -> list[Any]:
    """Return the exported values of a module; some are loaded on first access."""
    return [
        getattr(module, name) for name in getattr(module, "__all__", ()) if name not in left_out
    ]


def _module_name(path: str) -> str:
    parts = path.removesuffix(".py").removesuffix("__init__").rstrip("/").split("/")
    return ".".join([_PACKAGE, *filter(None, parts)])


def _connect(revisions: list[str], runtime: str) -> list[Any]:
    """Return the failures of a client and server of each revision."""
    if not revisions:
        return []
    file = os.path.join(os.path.dirname(__file__), "connecting.py")
    spec: Any = spec_from_file_location("connecting", file)
    connecting = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(connecting)
    package = sys.modules[_PACKAGE]
    return [
        failure
        for revision in revisions
        for failure in connecting.converse(package, runtime, revision)
    ]


def _main() -> None:
    gc.disable()  # this process lives for a second and keeps most of its objects
    package = json.load(sys.stdin)
    sys.path += package["path"]
    finder = _GeneratedModules(
        package["runtime"], package["runtime_module"] or f"{_PACKAGE}._runtime"
    )
    sys.meta_path.insert(0, finder)
    # Modules may print while they are imported.
    out, sys.stdout = sys.stdout, sys.stderr
    wrong = finder.import_all(package["files"], package["revisions"])
    failed = [] if wrong else _connect(package["connected"], finder.runtime)
    json.dump({"wrong": wrong, "failed": failed}, out)
    out.flush()
    os._exit(0)  # nothing is left to do


if __name__ == "__main__":
    _main()
