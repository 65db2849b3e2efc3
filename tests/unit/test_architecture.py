"""Constraints on the shape of the code that can be read from the code."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from mcp_protogen.pipeline.inputs.inputs import GENERATING
from support import missing, tables
from support.bounds.bounds import Bound, earlier_bounds, raised_without_reason, read_bounds
from support.bounds.house import (
    CODE,
    OURS,
    RUNTIME,
    imports_of,
    map_of_the_house,
    module_label,
    modules_in,
    nodes_of,
    trees,
)
from support.bounds.measures import MEASURES
from support.folders import ROOT

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
ALLOWED_IN_RUNTIME = {"pydantic", "pydantic_core", "typing_extensions"} | set(
    sys.stdlib_module_names
)

RUNTIME_MODULES = sorted(RUNTIME.rglob("*.py"))
RUNS = [module for module in OURS if module.startswith("mcp_protogen.runtime.")]
IMPORTS_BY_NAME = {
    "core.libraries: library": "A program need not have what nothing in it needs.",
    "core.revision: load_generated": "The runtime may be installed beside packages that it serves.",
    "http.server.run: _load_app": "Users name their application as they do for other servers.",
}
"""The functions of the runtime that import by name, each with its reason."""
_IMPORTERS = {"__import__", "find_spec", "import_module", "resolve_name", "run_module", "run_path"}


def imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


def test_the_runtime_stands_on_pydantic_and_the_standard_library_alone() -> None:
    # Further HTTP packages are imported by name at their use, so that neither a program without
    # HTTP nor its author's type checker needs them.
    for path in RUNTIME_MODULES:
        found = {name.split(".")[0] for name in imports(nodes_of(path))}
        assert found <= ALLOWED_IN_RUNTIME, module_label(path)


def test_imports_follow_the_map_of_the_house() -> None:
    houses = map_of_the_house()
    rooms = ("instep", "pipeline", "runtime", "runtime.features", "servers", "servers.gateway")
    assert set(houses) == {"mcp_protogen", *(f"mcp_protogen.{room}" for room in rooms)}
    for house, order in houses.items():
        found = modules_in(ROOT / "codegen" / house.replace(".", "/"))
        found -= {"__init__", "__main__", "runtime"}
        assert found == set(order), f"a map of CONTRIBUTING.md differs from {house}"
        places = {f"{house}.{room}": number for number, room in enumerate(order)}
        parts = house.count(".") + 2
        upward = [
            f"{module} imports {imported}"
            for module in OURS
            for here in (places.get(".".join(module.split(".")[:parts])),)
            for imported in (imports_of(module) if here is not None else ())
            if places.get(".".join(imported.split(".")[:parts]), -1) > (here or 0)
        ]
        assert upward == []


def test_only_servers_import_what_is_generated_and_inside_functions() -> None:
    # All else works without it, also its makers.
    places: list[tuple[Path, bool]] = []
    for path in trees():
        importing = [
            node
            for node in nodes_of(path)
            if "mcp_revisions" in {name.split(".")[0] for name in imports([node])}
        ]
        defined = (node for node in nodes_of(path) if importing and isinstance(node, _FUNCTIONS))
        inside = {node for function in defined for node in ast.walk(function)}
        places += [(path, node in inside) for node in importing]
    assert places, "no import was found"
    assert [p for p, inside in places if not (inside and CODE / "servers" in p.parents)] == []


def feature_of(module: str) -> str:
    """Return the name of a module's feature; empty without one."""
    return module.partition(".runtime.features.")[2].split(".")[0]


@pytest.mark.shows("GE-01")
def test_feature_is_imported_by_its_own_modules_alone() -> None:
    arrows = {(module, imported) for module in RUNS for imported in imports_of(module)}
    into = {(module, imported) for module, imported in arrows if feature_of(imported)}
    assert into, "no imports were found"
    assert {arrow for arrow in into if len({*map(feature_of, arrow)}) > 1} == set()


def importers(tree: ast.AST, within: str = "") -> Iterator[str]:
    """Yield the function, or nothing, around each import by name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in _IMPORTERS:
                yield within
        yield from importers(node, node.name if isinstance(node, _FUNCTIONS) else within)


def test_import_by_name_is_found() -> None:
    for code, found in (
        ("import_module(f'{__name__}.ext')", [""]),
        ("def load(): return importlib.import_module('yaml')", ["load"]),
        ("class One:\n def load(self): self.made = map(__import__, self.names)", ["load"]),
        ("from importlib import import_module\ndef load():\n from . import one", []),
    ):
        with tables.case(code):
            assert [*importers(ast.parse(code))] == found


def test_runtime_imports_by_name_in_three_functions() -> None:
    # Type checkers and freezing tools see import statements.
    found = {
        f"{module.partition('.runtime.')[2]}: {function}"
        for module in RUNS
        for function in importers(trees()[OURS[module]])
    }
    assert found == IMPORTS_BY_NAME.keys()


def test_commands_import_nothing_by_name() -> None:
    commands = [module for module in OURS if module.startswith("mcp_protogen.cli.")]
    assert commands
    found = [module for module in commands if [*importers(trees()[OURS[module]])]]
    assert found == []


def test_exception_is_made_where_it_is_raised() -> None:
    # An exception that is raised repeatedly keeps the frames of each time.
    for module in RUNS:
        for node in nodes_of(OURS[module]):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name):
                assert not node.exc.id.isupper(), f"{module}: {node.exc.id}"


def test_all_code_that_generates_is_among_what_a_package_is_made_from() -> None:
    # Targets are found by their entry points.
    found, left = set[str](), ["mcp_protogen.pipeline.generate", "mcp_protogen.targets.pydantic"]
    while left:
        found.add(module := left.pop())
        left += {*imports_of(module)} - found
    folders = {OURS[module].parent.relative_to(CODE).as_posix() for module in found}
    # The runtime has its own digest, and the pipeline's own modules are always read.
    folders -= {folder for folder in folders if folder.startswith("runtime")} | {".", "pipeline"}
    assert {folder for folder in folders if not folder.startswith(GENERATING)} == set()
    assert all(any(name.startswith(room) for name in folders) for room in GENERATING)


def test_commands_end_in_one_place_each_for_reports_and_conversations() -> None:
    # The others end a run outside any command: a closed output, wrong usage, a fault.
    found = {
        path.stem
        for path in (CODE / "cli").glob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Name) and node.id == "SystemExit"
    }
    assert found == {"conversation", "outcome"} | {"console", "usage"}


def test_file_stem_stands_once_in_a_room() -> None:
    # Each feature is a room.
    houses = CODE, RUNTIME, RUNTIME / "features"
    rooms = {room for house in houses for room in house.glob("*/")} - {*houses}
    twice = {
        f"{module_label(room)}: {stem}"
        for room in rooms
        for stem, number in Counter(path.stem for path in room.rglob("*.py")).items()
        if number > 1 and stem != "__init__"
    }
    assert twice == set()


def test_no_files_import_each_other_in_a_round() -> None:
    graph = {module: {*imports_of(module)} - {module} for module in OURS}
    assert sum(map(len, graph.values())) > len(graph), "no imports were found"
    TopologicalSorter(graph).prepare()  # a `CycleError` names the modules of a cycle


def test_the_runtime_refers_to_itself_relatively_and_to_nothing_above() -> None:
    for path in RUNTIME_MODULES:
        depth = len(path.relative_to(RUNTIME).parts)
        levels = [n.level for n in nodes_of(path) if isinstance(n, ast.ImportFrom)]
        assert max(levels, default=0) <= depth, module_label(path)


# `close()` is orderly, `abort()` at once, and `cancel()` ends one request; see `runtime.rpc.peer`.
# A worker may `leave` a session, which goes on elsewhere.
_OTHER_WORDS_FOR_ENDING = re.compile(
    r"(abandon|cut|dissolve|drop|finish|give_up|kill|quit|retire|shutdown|stop|terminate)(_.+)?"
)


def test_there_is_one_word_for_each_way_to_end() -> None:
    for path in RUNTIME_MODULES:
        classes = [node for node in nodes_of(path) if isinstance(node, ast.ClassDef)]
        methods = [node for class_ in classes for node in class_.body]
        names = {method.name for method in methods if isinstance(method, _FUNCTIONS)}
        assert not set(filter(_OTHER_WORDS_FOR_ENDING.fullmatch, names)), module_label(path)


def test_the_eras_are_told_apart_in_one_place() -> None:
    # Differences are fields of `Era`; the names of the eras are for users and records.
    eras = {"handshake", "stateless"}
    telling: list[str] = []
    for path in RUNTIME_MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.Compare | ast.MatchValue):
                values = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                if not values.isdisjoint(eras):
                    telling.append(f"{module_label(path)}:{node.lineno}")
    assert telling == []


_PRINTS = re.compile(r"print|sys\.std(out|err)\.(buffer\.)?write|typer\.echo|traceback\.print_\w+")


def test_there_is_one_place_that_prints() -> None:
    for path in trees():
        calls = {ast.unparse(node.func) for node in nodes_of(path) if isinstance(node, ast.Call)}
        printing = {name for name in calls if _PRINTS.fullmatch(name)}
        assert not printing or path == CODE / "cli" / "console.py", module_label(path)


def test_every_module_says_what_it_is_for() -> None:
    assert [
        module_label(path) for path, tree in trees().items() if not ast.get_docstring(tree)
    ] == []


_CLAUSES = frozenset({"How", "What", "When", "Where", "Whether", "Which", "Who", "Why"})


def test_docstrings_of_functions_are_imperative() -> None:
    # https://peps.python.org/pep-0257/: "Return this", and not "What this is".
    found: list[str] = []
    for path in trees():
        for node in nodes_of(path):
            if not isinstance(node, _FUNCTIONS):
                continue
            first = (ast.get_docstring(node) or "-").split()[0].strip(",:;")
            is_property = any(
                "property" in ast.unparse(decorator) for decorator in node.decorator_list
            )
            if first in _CLAUSES or (first == "The" and not is_property):
                found.append(f"{module_label(path)}: {node.name}: {first} …")
    assert found == []


LOW, HIGH = {"rooms": Bound(9, "entries", "-")}, {"rooms": Bound(1010, "entries", "-")}
ENTRY = "- `rooms`: 1,010 entries. That buys\n  a room of its own for tests."


def test_every_bound_is_measured() -> None:
    assert read_bounds().keys() == MEASURES.keys()


def test_there_is_no_more_of_anything_than_its_bound() -> None:
    for name, bound in read_bounds().items():
        with tables.case(name):
            found = MEASURES[name]()
            assert found.amount <= bound.most, f"{found.place}; {bound.reason}"
            assert found.amount or not bound.most, "nothing was measured"


def test_raised_bound_has_an_entry_under_costs() -> None:
    earlier = earlier_bounds()
    if earlier is None:
        missing.skip_untested("the history of this checkout", "that no bound was raised in silence")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert raised_without_reason(read_bounds(), earlier, changelog) == []


def test_raise_counts_unless_costs_say_what_it_buys() -> None:
    costs = {
        "no entry": "### Costs\n\n- Others.\n",
        "another number": f"### Costs\n\n{ENTRY.replace('1,010', '1,009')}\n",
        "another bound": f"### Costs\n\n{ENTRY.replace('rooms', 'floors')}\n",
        "nothing bought": f"### Costs\n\n{ENTRY.replace('buys', 'is')}\n",
        "another section": f"### Costs\n\n- Others.\n\n### Rooms\n\n{ENTRY}\n",
    }
    for name, changelog in costs.items():
        with tables.case(name):
            assert raised_without_reason(HIGH, [LOW, HIGH], changelog) == ["rooms"]
    entry = f"## 0.3\n\n### Costs\n\n- Others.\n{ENTRY}\n\n## 0.2\n"
    assert raised_without_reason(HIGH, [HIGH, LOW], entry) == []
    assert raised_without_reason(LOW, [HIGH], "") == []
    assert raised_without_reason(HIGH, [{}], "") == []


def private_names(tree: ast.Module) -> set[str]:
    """Return the private names that statements of a module itself give to something."""
    found = {node.name for node in tree.body if isinstance(node, _FUNCTIONS | ast.ClassDef)}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0] == "_" != name[1:2]}


def test_private_name_of_a_module_is_used_in_it() -> None:
    unused = set[tuple[str, str]]()
    for path, tree in trees().items():
        text = path.read_text(encoding="utf-8")
        words = Counter(re.findall(r"\w+", text))
        unused |= {(module_label(path), name) for name in private_names(tree) if words[name] == 1}
    assert unused == set()
