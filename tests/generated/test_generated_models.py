"""Models are loaded on demand, invisibly."""

import ast
import copy
import pickle
import re
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from inspect import get_annotations
from typing import Any, get_type_hints

from support import tables
from support.folders import ROOT
from support.generated.golden_package import PACKAGE, REVISIONS, load
from support.programs import run_program

MODELS = "mcp_revisions.v2025_11_25.models"


def _modules_loaded_by(program: str) -> set[str]:
    """Return the modules of models that a program has loaded at its end."""
    shown = f"import sys\n{program}\nprint(*(n for n in sys.modules if n.startswith('{MODELS}.')))"
    output = run_program(sys.executable, "-c", shown, env={"PYTHONPATH": str(ROOT / "generated")})
    return {name.rpartition(".")[2] for name in output.split()}


def test_only_the_models_in_use_are_loaded() -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}'
    load_ = "import mcp_revisions; p = mcp_revisions.load('2025-11-25')\n"
    for program, loaded in (
        (load_, set[str]()),
        (load_ + "p.server.Server, p.client.Client, dir(p.models)", set[str]()),
        (load_ + f"p.methods.parse_request({call!r}, sender='client')", {"shared_params", "tools"}),
        (load_ + "p.models.ListRootsResult", {"roots_results"}),
        (
            f"from {MODELS} import InitializeResult, Tool",
            {"base", "base_results", "shared", "shared_params"},
        ),
        (f"import {MODELS}.tools", {"shared_params", "tools"}),
    ):
        with tables.case(program):
            assert _modules_loaded_by(program) == loaded


def test_modules_of_models_import_each_other_in_one_direction() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            folder = PACKAGE / load(revision).__name__.rpartition(".")[2] / "models"
            imports = {
                file.stem: {
                    str(node.module)
                    for node in ast.parse(file.read_text(encoding="utf-8")).body
                    if isinstance(node, ast.ImportFrom) and node.level == 1
                }
                for file in folder.glob("[a-z]*.py")
            }
            assert [*TopologicalSorter(imports).static_order()]
            assert imports["shared"] == set()
            assert not any("messages" in names for names in imports.values())
            for module in imports.keys() - {"messages", "shared"}:
                feature = module.removesuffix("_results")
                part = "params" if feature == module else "results"
                assert imports[module] <= {feature, "shared", f"shared_{part}"}


def test_names_are_found_in_every_way() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            models = load(revision).models
            everything: dict[str, Any] = {}
            exec(f"from {models.__name__} import *", everything)
            assert {*models.__all__} == everything.keys() - {"__builtins__"}
            for name, value in everything.items():
                if name in models.__all__:
                    assert value is getattr(models, name)
                    assert value is getattr(import_module(value.__module__), name)
            assert {*models.__all__, "__name__"} <= {*dir(models)}
            assert not hasattr(models, "Gone")


def test_classes_know_what_their_annotations_name() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            package = load(revision)
            for name in package.models.__all__:
                value = getattr(package.models, name)
                if isinstance(value, type):
                    assert get_type_hints(value).keys() >= get_annotations(value).keys()
            for spec in (
                *package.methods.REQUESTS.values(),
                *package.methods.NOTIFICATIONS.values(),
            ):
                assert repr(spec) and copy.copy(spec).params is spec.params
            for side in (package.server.Server, package.server.Session, package.client.Client):
                members: dict[str, Any] = {**vars(side)}
                for function in members.values():
                    if callable(function) and not isinstance(function, type):
                        assert "return" in get_type_hints(function)


def test_a_model_goes_to_a_process_that_has_not_loaded_it() -> None:
    models = load("2025-11-25").models
    tool = models.Tool(name="x", input_schema={"type": "object"}, icons=[models.Icon(src="u")])
    assert pickle.loads(pickle.dumps(tool)) == copy.deepcopy(tool) == tool
    program = f"import pickle; assert pickle.loads({pickle.dumps(tool)!r}).icons[0].src == 'u'"
    assert _modules_loaded_by(program) == {"shared"}


def test_threads_may_load_models_at_the_same_time() -> None:
    program = f"""
from concurrent.futures import ThreadPoolExecutor
import {MODELS} as m
names = [*m.__all__] * 4
def make(name):
    return hasattr(getattr(m, name), "model_json_schema") and getattr(m, name).model_json_schema()
with ThreadPoolExecutor(16) as pool:
    assert len([*pool.map(make, names)]) == len(names)
"""
    assert "messages" in _modules_loaded_by(program)


def test_packages_of_revisions_and_extensions_name_each_class_once() -> None:
    paths = [*PACKAGE.glob("v*/__init__.py"), *PACKAGE.glob("v*/ext/*/__init__.py")]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        module = import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
        classes = [name for name in module.__all__ if isinstance(getattr(module, name), type)]
        for name in classes:
            with tables.case(f"{module.__name__}: {name}"):
                assert len(re.findall(rf"\b{name}\b", text)) == 1
