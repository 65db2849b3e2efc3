"""Imports a generated package that is on no disk yet; a program, which `trial` runs.

What it is told is on its standard input. It runs in an interpreter that knows the standard library
only, and finds nothing but the generated modules, the runtime as it is installed, and the folders
of what the runtime stands on: neither the working directory nor a file that lies beside.
"""

import importlib
import json
import sys
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location, spec_from_loader
from typing import Any

_PACKAGE = "generated"
_RUNTIME = f"{_PACKAGE}._runtime"


class _Generated(MetaPathFinder, InspectLoader):
    """Finds and loads modules by their paths in the package, from text."""

    def __init__(self, runtime: str, files: dict[str, str]) -> None:
        self._runtime = runtime
        self._paths = {_named(path): path for path in files}
        self._files = files

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Where a module of the package comes from; those of the runtime are found through it."""
        if fullname == _RUNTIME:
            init, places = f"{self._runtime}/__init__.py", [self._runtime]
            return spec_from_file_location(fullname, init, submodule_search_locations=places)
        return spec_from_loader(fullname, self) if fullname in self._paths else None

    def is_package(self, fullname: str) -> bool:
        """Whether modules can be below it."""
        return self._paths[fullname].endswith("__init__.py")

    def get_source(self, fullname: str) -> str:
        """The text of a module."""
        return self._files[self._paths[fullname]]

    def import_all(self, kept: list[str]) -> dict[str, str]:
        """What is wrong with each module that cannot be imported, by path.

        The revisions that are `kept` are not among the modules, which name them.
        """
        wrong: dict[str, str] = {}
        from pydantic import TypeAdapter

        for name, path in sorted(self._paths.items()):
            try:
                module = importlib.import_module(name)
                # What a module only gives when it is asked, and what is built on first use.
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
    finder = _Generated(job["runtime"], job["files"])
    sys.meta_path.insert(0, finder)
    # What modules say on being imported is not the answer.
    out, sys.stdout = sys.stdout, sys.stderr
    json.dump(finder.import_all(job["kept"]), out)


if __name__ == "__main__":
    _main()
