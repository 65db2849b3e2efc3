"""The measured value of each bound, by its name."""

import ast
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from mcp_protogen.base.names import duplicates
from mcp_protogen.base.resources import runtime_files, runtime_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit.layout import fixed_files
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.parts import DEFAULT, PARTS, PartSelection
from support.bounds.house import CODE, OURS, RUNTIME, imports_of, module_label, modules_in, trees
from support.bounds.prose import NAMES, find_places
from support.folders import ROOT, environment
from support.generating import write_files
from support.programs import run_program
from support.revisions import OLD

TERMS: Final = ("LICENSE", "NOTICE")
"""What a package carries beside the modules of the runtime."""


class Measured(NamedTuple):
    amount: int
    place: str = ""


def runtime_size(parts: Iterable[str], *, several: bool = False) -> Measured:
    """Return the KB of the runtime in a package with some parts; the last part counts whole."""
    selection = PartSelection(tuple(parts), several=several)
    files = fixed_files(runtime_folder(), runtime_files(), selection)
    carried = (file for file in files if file.origin == "runtime")
    size = sum(len(file.content) for file in carried if Path(file.path).name not in TERMS)
    return Measured(-(-size // 1024))


@cache
def _greeter_figures() -> dict[str, int]:
    """Measure a package with default options, in its own process."""
    with TemporaryDirectory(prefix="bounds-") as folder:
        write_files(generate(GenerationOptions((OLD,))).files, Path(folder, "pkg"))
        seen = environment()
        seen["PYTHONPATH"] = os.pathsep.join((folder, str(ROOT), seen["PYTHONPATH"]))
        command = [sys.executable, "-m", "support.bounds.greeter", OLD]
        printed = run_program(*command, env=seen)
    figures: dict[str, int] = json.loads(printed)
    return figures


def greeter_figure(name: str) -> Measured:
    return Measured(_greeter_figures()[name])


def count_entries(folder: Path) -> Measured:
    return Measured(len(modules_in(folder)))


def count_floors() -> Measured:
    """Return the length of the longest import chain of rooms."""
    folders = {path.parent.name for path in CODE.glob("*/*.py")}
    below: dict[str, set[str]] = {room: set() for room in folders}
    for module in OURS:
        for imported in imports_of(module):
            above, room = (f"{name}..".split(".")[1] for name in (module, imported))
            if above in folders and room in folders and above != room:
                below[above].add(room)
    chains: dict[str, tuple[str, ...]] = {}
    for room in TopologicalSorter(below).static_order():
        chains[room] = (room, *max((chains[callee] for callee in below[room]), key=len, default=()))
    longest = max(chains.values(), key=len)
    return Measured(len(longest), " > ".join(longest))


def longest_module() -> Measured:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in trees()}
    longest = max(lines, key=lambda path: lines[path])
    return Measured(lines[longest], module_label(longest))


def longest_class() -> Measured:
    """Return the lines of the longest class, decorators not counted."""
    return max(
        Measured((node.end_lineno or 0) - node.lineno + 1, f"{module_label(path)}: {node.name}")
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )


def longest_function() -> Measured:
    """Return the lines of the longest body of a function.

    The signature of a command is its table of options, and not counted.
    """
    return max(
        Measured(
            (node.end_lineno or 0) - node.body[0].lineno + 1, f"{module_label(path)}: {node.name}"
        )
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def count_names_twice() -> Measured:
    """Count the names that several public classes share."""
    found = (node for tree in trees().values() for node in ast.walk(tree))
    classes = (node.name for node in found if isinstance(node, ast.ClassDef))
    twice = duplicates(name for name in classes if not name.startswith("_"))
    return Measured(len(twice), ", ".join(twice))


def count_places(name: str) -> Measured:
    """Return how many places there are of a kind of name or phrase, and some of them."""
    places = find_places()[name]
    return Measured(len(places), ", ".join(places[:20]))


_GREETER: Final = ("greeter-modules", "greeter-lines", "walk-calls", "walk-modules", "walk-returns")
MEASURES: Final[Mapping[str, Callable[[], Measured]]] = {
    "runtime-none": partial(runtime_size, ()),
    "runtime-default": partial(runtime_size, DEFAULT),
    "runtime-all": partial(runtime_size, PARTS),
    "runtime-all-translated": partial(runtime_size, PARTS, several=True),
    **{name: partial(greeter_figure, name) for name in _GREETER},
    "rooms": partial(count_entries, CODE),
    "floors": count_floors,
    "runtime-rooms": partial(count_entries, RUNTIME),
    "longest-module": longest_module,
    "longest-class": longest_class,
    "longest-function": longest_function,
    "class-names-twice": count_names_twice,
    **{name: partial(count_places, name) for name in NAMES},
}
