"""A program that imports a generated package which is on no disk yet; `trial` runs it.

Its input is on standard input. It runs in an interpreter with only the standard library, and finds
nothing but the generated modules, the installed runtime, and the folders of the runtime's
dependencies: neither the working directory nor a file beside it.
"""

import importlib
import json
import sys
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location, spec_from_loader
from typing import Any

_PACKAGE = "generated package"  # a name that no module of a runtime can have


class _Generated(MetaPathFinder, InspectLoader):
    """A finder and loader of modules by their paths in the package, from text."""

    def __init__(self, runtime: str, name: str, files: dict[str, str]) -> None:
        self._runtime = runtime
        self._name = name
        self._paths = {_named(path): path for path in files}
        self._files = files

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the origin of a module of the package, and of the packages above its runtime."""
        if fullname == self._name:
            init, places = f"{self._runtime}/__init__.py", [self._runtime]
            return spec_from_file_location(fullname, init, submodule_search_locations=places)
        if fullname in self._paths:
            return spec_from_loader(fullname, self)
        is_above = self._name.startswith(f"{fullname}.")
        return ModuleSpec(fullname, None, is_package=True) if is_above else None

    def is_package(self, fullname: str) -> bool:
        """Return whether a module can have modules below it."""
        return self._paths[fullname].endswith("__init__.py")

    def get_source(self, fullname: str) -> str:
        """Return the text of a module."""
        return self._files[self._paths[fullname]]

    def import_all(self, kept: list[str]) -> dict[str, str]:
        """Return the error of each module that cannot be imported, by path.

        Modules name the revisions that are `kept`, which are not among them.
        """
        wrong: dict[str, str] = {}
        from pydantic import TypeAdapter

        for name, path in sorted(self._paths.items()):
            try:
                module = importlib.import_module(name)
                # Names that are loaded on first access, and models that are built on first use.
                names = [one for one in getattr(module, "__all__", ()) if one not in kept]
                offered = [getattr(module, one) for one in names]
                for model in offered if path.endswith("/models.py") else ():
                    TypeAdapter(model).rebuild()
            except Exception as error:
                wrong[path] = f"{type(error).__name__}: {error}"
        return wrong


def _named(path: str) -> str:
    parts = path.removesuffix(".py").removesuffix("__init__").rstrip("/").split("/")
    return ".".join([_PACKAGE, *filter(None, parts)])


def _main() -> None:
    job = json.load(sys.stdin)
    sys.path += job["path"]
    name = job["runtime_module"] or f"{_PACKAGE}._runtime"
    finder = _Generated(job["runtime"], name, job["files"])
    sys.meta_path.insert(0, finder)
    # Text that modules print while they are imported is not the answer.
    out, sys.stdout = sys.stdout, sys.stderr
    json.dump(finder.import_all(job["kept"]), out)


if __name__ == "__main__":
    _main()
