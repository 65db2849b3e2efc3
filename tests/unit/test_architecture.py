"""The shape of the code, where a rule can be read off it."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from mcp_protogen.pipeline.inputs.inputs import GENERATING
from support.folders import ROOT

CODE = ROOT / "codegen" / "mcp_protogen"
RUNTIME = CODE / "runtime"
MODULES = sorted((ROOT / "codegen").rglob("*.py"))

LONGEST_FUNCTION = 40
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
ALLOWED_IN_RUNTIME = {"pydantic", "pydantic_core", "typing_extensions"} | set(
    sys.stdlib_module_names
)

RUNTIME_MODULES = sorted(RUNTIME.rglob("*.py"))


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def named(path: Path) -> str:
    return path.relative_to(ROOT / "codegen").as_posix()


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


def test_functions_are_short() -> None:
    long: list[str] = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                # The signature of a command is its table of options, and not counted.
                lines = (node.end_lineno or 0) - node.body[0].lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{named(path)}: {node.name}: {lines} lines")
    assert long == []


def test_the_runtime_stands_on_pydantic_and_the_standard_library_alone() -> None:
    # What HTTP needs besides is imported by name, where it is used: neither a program that goes
    # without it nor the type checker of its author has to have it.
    for path in RUNTIME_MODULES:
        found = {name.split(".")[0] for name in imports(trees()[path])}
        assert found <= ALLOWED_IN_RUNTIME, named(path)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "codegen").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


OURS = {module_name(path): path for path in MODULES}


def imported(module: str) -> Iterator[str]:
    """Yield the modules of ours that a module imports, at its top or anywhere else."""
    path = OURS[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in OURS)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names:
                target = f"{start}.{alias.name}"
                yield from (one for one in (target if target in OURS else start,) if one in OURS)


def map_of_the_house() -> dict[str, list[str]]:
    """Return the two lists of CONTRIBUTING.md, by the folder that each is about."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lists = re.findall(r"`codegen/([\w/]+)`:\n\n((?: {4}\w+ .*\n)+)", text)
    return {
        folder.replace("/", "."): [line.split()[0] for line in lines.splitlines()]
        for folder, lines in lists
    }


def modules_in(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder, without other files."""
    # A folder without modules is what git leaves of a package that is gone.
    packages = {path.parent.name for path in folder.glob("*/*.py")}
    return packages | {path.stem for path in folder.glob("*.py")}


def test_imports_follow_the_map_of_the_house() -> None:
    houses = map_of_the_house()
    rooms = {f"mcp_protogen.{room}" for room in ("instep", "pipeline", "runtime", "servers")}
    assert set(houses) == {"mcp_protogen", *rooms}
    for house, order in houses.items():
        found = modules_in(ROOT / "codegen" / house.replace(".", "/"))
        found -= {"__init__", "__main__", "runtime"}
        assert found == set(order), f"CONTRIBUTING.md lists what is in {house}"
        places = {f"{house}.{room}": number for number, room in enumerate(order)}
        parts = house.count(".") + 2
        upward = [
            f"{module} imports {target}"
            for module in OURS
            for here in (places.get(".".join(module.split(".")[:parts])),)
            for target in (imported(module) if here is not None else ())
            if places.get(".".join(target.split(".")[:parts]), -1) > (here or 0)
        ]
        assert upward == []


def test_only_servers_import_what_is_generated_and_inside_functions() -> None:
    # Without it, everything else works, also what makes it.
    places: list[tuple[Path, bool]] = []
    for path, tree in trees().items():
        defined = (one for one in ast.walk(tree) if isinstance(one, _FUNCTIONS))
        inside = {node for function in defined for node in ast.walk(function)}
        places += [
            (path, node in inside)
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            and "mcp_revisions" in {name.split(".")[0] for name in imports(node)}
        ]
    assert places, "no import was found"
    assert [p for p, inside in places if not (inside and CODE / "servers" in p.parents)] == []


@pytest.mark.shows("GE-01")
def test_nothing_else_in_the_runtime_needs_authorization() -> None:
    auth = "mcp_protogen.runtime.http.auth"
    ours = [module for module in OURS if module.startswith("mcp_protogen.runtime.")]
    needing = {module for module in ours for target in imported(module) if target.startswith(auth)}
    assert needing, "no imports were found"
    assert {module for module in needing if not module.startswith(auth)} == set()


def test_all_code_that_generates_is_among_what_a_package_is_made_from() -> None:
    # Targets are found by their entry points.
    found, left = set[str](), ["mcp_protogen.pipeline.generate", "mcp_protogen.targets.pydantic"]
    while left:
        found.add(module := left.pop())
        left += {*imported(module)} - found
    folders = {OURS[module].parent.relative_to(CODE).as_posix() for module in found}
    # The runtime has a digest of its own, and modules of the pipeline itself are always read.
    folders -= {folder for folder in folders if folder.startswith("runtime")} | {".", "pipeline"}
    assert {folder for folder in folders if not folder.startswith(GENERATING)} == set()
    assert all(any(one.startswith(room) for one in folders) for room in GENERATING)


def test_the_top_of_the_runtime_is_read_at_a_glance() -> None:
    assert len(modules_in(RUNTIME)) <= 15


def test_no_files_import_each_other_in_a_round() -> None:
    graph = {module: {*imported(module)} - {module} for module in OURS}
    assert sum(map(len, graph.values())) > len(graph), "no imports were found"
    TopologicalSorter(graph).prepare()  # a `CycleError` names the modules of a round


def test_the_runtime_refers_to_itself_relatively_and_to_nothing_above() -> None:
    for path in RUNTIME_MODULES:
        depth = len(path.relative_to(RUNTIME).parts)
        levels = [n.level for n in ast.walk(trees()[path]) if isinstance(n, ast.ImportFrom)]
        assert max(levels, default=0) <= depth, named(path)


# `close()` is orderly, `abort()` at once, and `cancel()` ends one request; see `runtime.rpc.peer`.
# A worker may `leave` a session, which goes on elsewhere.
_OTHER_WORDS_FOR_ENDING = re.compile(
    r"(abandon|cut|dissolve|drop|finish|give_up|kill|quit|retire|shutdown|stop|terminate)(_.+)?"
)


def test_there_is_one_word_for_each_way_to_end() -> None:
    for path in RUNTIME_MODULES:
        classes = [node for node in ast.walk(trees()[path]) if isinstance(node, ast.ClassDef)]
        methods = [node for one in classes for node in one.body]
        names = {one.name for one in methods if isinstance(one, _FUNCTIONS)}
        assert not set(filter(_OTHER_WORDS_FOR_ENDING.fullmatch, names)), named(path)


def test_the_eras_are_told_apart_in_one_place() -> None:
    # What differs is a field of `spec.Era`; the names of the eras are for users and records.
    eras = {"handshake", "stateless"}
    telling: list[str] = []
    for path in RUNTIME_MODULES:
        for node in ast.walk(trees()[path]):
            if isinstance(node, ast.Compare | ast.MatchValue):
                values = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                if not values.isdisjoint(eras):
                    telling.append(f"{named(path)}:{node.lineno}")
    assert telling == []


_PRINTS = re.compile(r"print|sys\.std(out|err)\.(buffer\.)?write|typer\.echo|traceback\.print_\w+")


def test_there_is_one_place_that_prints() -> None:
    for path, tree in trees().items():
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        printing = {name for name in calls if _PRINTS.fullmatch(name)}
        assert not printing or path == CODE / "cli" / "console.py", named(path)


def test_every_module_says_what_it_is_for() -> None:
    assert [named(path) for path, tree in trees().items() if not ast.get_docstring(tree)] == []


_CLAUSES = frozenset({"How", "What", "When", "Where", "Whether", "Which", "Who", "Why"})


def test_docstrings_of_functions_are_imperative() -> None:
    # https://peps.python.org/pep-0257/: "Return this", and not "What this is".
    found: list[str] = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, _FUNCTIONS):
                continue
            first = (ast.get_docstring(node) or "-").split()[0].strip(",:;")
            is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
            if first in _CLAUSES or (first == "The" and not is_property):
                found.append(f"{named(path)}: {node.name}: {first} …")
    assert found == []
