"""Parts of packages: each has exactly what it needs, and names the parts it lacks."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import chain, product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.base.resources import (
    runtime_files,
    runtime_folder,
    schema_folder,
    templates_folder,
)
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit.layout import fixed_files, package_modules, shared_modules
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.emit.template_contexts import ListedRevision
from mcp_protogen.pipeline.inputs.facts import package_transports
from mcp_protogen.pipeline.ir import TransportIR
from mcp_protogen.pipeline.part_contents import (
    BY_FACTS,
    CONDITIONAL,
    DOCUMENTED,
    GATED,
    PARTED,
    REQUESTED,
    RULED,
    RULED_VERSIONS,
    STREAMS,
    VERSIONED,
)
from mcp_protogen.pipeline.parts import DEFAULT, PARTS, PartSelection, missing_names
from support import made_once, tables
from support.bounds.measures import TERMS
from support.folders import ROOT
from support.generated.package_copy import copied_package
from support.generated.type_checkers import CHECKERS, find_objections
from support.generating import write_files

if str(ROOT / "tests" / "http") not in sys.path:
    sys.path.insert(0, str(ROOT / "tests" / "http"))

from support.http.serving import run_app

REVISION, FOLDER = "2024-11-05", "v2024_11_05"  # the fastest to generate
SETS = {**{part: (part,) for part in PARTS}, "none": (), "default": DEFAULT, "all": tuple(PARTS)}
SELECTIONS = {
    (name, several): PartSelection(parts, several=several)
    for name, parts in SETS.items()
    for several in (False, True)
}
EXTENDED = {name: PartSelection(parts, extensions=("apps",)) for name, parts in SETS.items()}

ONLY_INSTALLED = {"core/version_check.py", "py.typed", "pyproject.toml"}
"""What a distribution of the runtime has beside the files that are copied."""
TOP = {"features/__init__.py"}
"""What a package has of features if it has any."""


def runtime_of(selection: PartSelection) -> dict[Path, bytes]:
    """Return the files of the runtime that belong to a package, with their content."""
    files = fixed_files(runtime_folder(), runtime_files(), selection)
    return {copied_package() / f.path: f.content for f in files if f.origin == "runtime"}


def modules_of(selection: PartSelection) -> set[Path]:
    """Return the modules among them, without the licence files."""
    return {path for path in runtime_of(selection) if path.name not in TERMS}


LISTED = ListedRevision("2025-11-25", "handshake", module_name("2025-11-25"))


def generated_of(selection: PartSelection) -> dict[Path, str]:
    """Return the other modules of a package, without the lists of contents."""
    own = ((copied_package() / FOLDER / module).with_suffix(".py") for module in selection.modules)
    models = (copied_package() / FOLDER / "models").glob("*.py")
    found = {path: path.read_text() for path in (*own, *models) if path.is_file()}
    if not {"client", "server"} & selection.modules:
        bare = made_once.generated_once(GenerationOptions((REVISION,), parts=SETS["none"]))
        of_messages = f"{FOLDER}/methods.py"
        (text,) = (file.content.decode() for file in bare.files if file.path == of_messages)
        found[copied_package() / of_messages] = text
    renderer = Renderer(templates_folder())
    apps = [
        generated_module
        for generated_module in package_modules((LISTED,), (), selection, renderer)
        if generated_module.path == "app.py"
    ]
    for module in (*apps, *shared_modules((), selection, renderer)):
        found[copied_package() / module.path] = module.text
    if "translate" in selection.modules:
        table = copied_package() / "translate" / "v2025_03_26.py"
        found[table] = table.read_text()
    return found


@cache
def imports_of(path: Path, text: str | None = None) -> frozenset[Path]:
    """Return the modules of the package that a module imports, at any time."""
    found = {
        folder / "__init__.py" for folder in path.parents if folder.is_relative_to(copied_package())
    }
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            found |= {_module(base / alias.name) or _module(base) or base for alias in node.names}
    return frozenset(
        found - {copied_package() / "__init__.py", copied_package() / FOLDER / "__init__.py"}
    )


def _module(place: Path) -> Path | None:
    known = place.with_suffix(".py"), place / "__init__.py"
    return next((path for path in known if path.is_file()), None)


def modules_reached(selection: PartSelection) -> set[Path]:
    """Return all modules reachable from the generated and exported ones of a package."""
    runtime, generated = copied_package() / "_runtime", generated_of(selection)
    exported = {"core.revision", *(module for module, _ in selection.exports)}
    found, left = set[Path](), [
        runtime.joinpath(*module_name.split(".")) for module_name in exported
    ]
    left = [_module(place) or place for place in left] + [*generated]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += imports_of(path, generated.get(path))
    return found


def test_a_package_has_every_module_that_it_imports_and_no_other() -> None:
    for case, selection in SELECTIONS.items():
        with tables.case(case):
            there = {*modules_of(selection), *generated_of(selection)}
            assert modules_reached(selection) - there == set(), "imported, and not in the package"
            assert there - modules_reached(selection) == set(), "in the package, and never imported"


def test_a_package_has_the_modules_of_its_extensions_and_no_others() -> None:
    for name, selection in EXTENDED.items():
        with tables.case(name):
            more = {*runtime_of(selection)} - {*runtime_of(SELECTIONS[name, False])}
            found = {path.relative_to(copied_package() / "_runtime").as_posix() for path in more}
            halves = {"client": "host", "app": "items"}
            expected = {halves[covered] for covered in selection.modules & halves.keys()}
            modules = {"__init__", "constants", *expected} if expected else set[str]()
            tables_of = {"core/models/added_members.py", "messages/extended_table.py"}
            has_roles = bool(selection.modules & {"client", "server"})
            of_extensions = ({"core/extensions.py"} | (tables_of if has_roles else set[str]())) - {
                path.relative_to(copied_package() / "_runtime").as_posix()
                for path in runtime_of(SELECTIONS[name, False])
            }
            of_ui = {f"features/ui/{module}.py" for module in modules}
            assert found - TOP == of_ui | of_extensions
            there = {*runtime_of(selection), *generated_of(selection)}
            for path in more:
                assert imports_of(path) <= there, path


OF_FACTS = {
    CONDITIONAL: {"server": {"server/conditional_errors.py"}},
    GATED: {
        "app": {"toolkit/entry_needs.py"},
        "client": {"client/entry_needs.py", "rules/entry_needs.py"},
        "server": {"rules/entry_needs.py"},
    },
    PARTED: {
        "client": {"client/partial_results.py", "rules/partial_results.py"},
        "server": {"server/partial_results.py", "rules/partial_results.py"},
    },
    REQUESTED: {"app": {"toolkit/requested_outputs.py"}},
    RULED: {"client": {"client/cache_rules.py"}},
    STREAMS: {
        "client": {"client/request_stream.py"},
        "server": {"server/extension_session.py"},
    },
}
"""The modules of the runtime that facts bring, by generated module."""


def test_only_packages_whose_revisions_need_them_have_modules_for_rare_facts() -> None:
    for (case, selection), (condition, modules) in product(SELECTIONS.items(), OF_FACTS.items()):
        with tables.case((case, condition)):
            there = modules_of(selection)
            whole = modules_of(selection._replace(by_facts=frozenset({condition})))
            expected = (modules[name] for name in modules.keys() & selection.modules)
            runtime = copied_package() / "_runtime"
            more = {module.relative_to(runtime).as_posix() for module in whole - there}
            assert more == set[str]().union(*expected)
            named = {path.with_suffix("") for path in whole}
            for module in more:
                text = (runtime_folder() / module).read_text()
                assert imports_of(runtime / module, text) <= whole | named


def test_further_transport_comes_with_its_module_and_names_where_programs_are_reached() -> None:
    pair = TransportIR(
        "Pairs",
        "program",
        ("pairs", "pair"),
        framing="pairs",
        client="transports.memory.open_pair",
        server="testing.serve_pair",
        fallback="",
        later=False,
    )
    usual = package_transports(schema_folder(), [REVISION])
    for parts, has in ((("stdio", "toolkit"), True), (("http-client", "toolkit"), False)):
        selection = PartSelection(parts, transports=(*usual, pair))
        with tables.case(parts):
            names = {name for _, names in selection.exports for name in names}
            assert ({"open_pair", "serve_pair"} <= names) is has
            modules = {path.stem for path in modules_of(selection)}
            assert ({"memory", "testing"} <= modules) is has
            assert selection.opening["program"] == {
                "stdio": "stdio_client",
                **dict.fromkeys(pair.names, "open_pair"),
            }
            made = package_modules((LISTED,), (), selection, Renderer(templates_folder()))
            app = {module.path: module.text for module in made}["app.py"]
            assert ('Literal["stdio", "pairs"]' in app) is has
            assert "serve=package.serve_pair" in app


def test_copied_runtime_is_the_installed_one_byte_for_byte_but_for_parts_left_out() -> None:
    runtime = {
        path.relative_to(runtime_folder()).as_posix(): path.read_bytes()
        for path in runtime_folder().rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    whole = SELECTIONS["all", True]._replace(
        extensions=("apps", "server-card"),
        by_facts=BY_FACTS | {DOCUMENTED, RULED_VERSIONS, STREAMS, VERSIONED},
    )
    left_out: dict[object, set[str]] = {}
    for case, selection in (*SELECTIONS.items(), ("whole", whole)):
        with tables.case(case):
            copied = {
                path.relative_to(copied_package() / "_runtime").as_posix(): content
                for path, content in runtime_of(selection).items()
            }
            assert copied == {name: runtime.get(name) for name in copied}
            left_out[case] = runtime.keys() - copied.keys()
            assert left_out[case] >= ONLY_INSTALLED and left_out[case].isdisjoint(TERMS)
    assert left_out["whole"] == ONLY_INSTALLED


def test_a_name_is_exported_or_said_to_be_missing() -> None:
    names = {
        case: {name for _, names in selection.exports for name in names}
        for case, selection in SELECTIONS.items()
    }
    for case, selection in SELECTIONS.items():
        with tables.case(case):
            missing = missing_names(selection)
            assert names[case].isdisjoint(missing)
            assert names["all", True] <= names[case] | missing.keys()
    assert missing_names(SELECTIONS["all", True]) == {}
    missing = missing_names(SELECTIONS["default", False])
    assert (missing["http_app"], missing["Bridge"]) == ("--with http-server", "--with bridge")
    assert missing["connect_http"] == "--with http-client"
    assert missing["FetchPolicy"] == "--with auth,http-client or auth,http-server"
    assert missing["translate"] == "a second --revision"


@pytest.fixture(scope="module")
def make_package(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes a package of one revision by its parts, once for each."""
    place = tmp_path_factory.mktemp("parts")

    def make(name: str) -> Path:
        folder = place / f"with_{name.replace('-', '_')}"
        if not folder.exists():
            options = GenerationOptions((REVISION,), parts=SETS[name])
            write_files(made_once.generated_once(options).files, folder)
        return folder

    return make


def load_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(folder.parent), *sys.path])
    return import_module(folder.name)


MISSING = {
    "none": ("connect", "Options", "tool", "Bridge", "translate"),
    "http-client": ("http_app", "run_http", "serve", "stdio_client", "connect_in_memory"),
    "default": ("http_app", "run_http", "HttpOptions", "connect_http", "Bridge", "translate"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_package_gives_what_it_has_and_says_what_would_bring_the_rest(
    name: str, make_package: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_package(name)
    package = load_package(folder, monkeypatch)
    selection = SELECTIONS[name, False]
    for exported in package.__all__:
        assert getattr(package, exported) is not None
    assert {path.stem for path in (folder / FOLDER).iterdir() if path.stem != "__pycache__"} == {
        *("__init__", "capabilities", "methods", "models"),
        *({"app", "client", "server"} & selection.modules),
    }
    revision = package.load(REVISION)
    assert all(getattr(revision, exported) is not None for exported in revision.__all__)
    missing = missing_names(selection)
    for of, names in ((package, MISSING[name]), (revision, ("Server", "server", "Client"))):
        for public_name in names:
            if public_name in missing:
                with pytest.raises(ImportError, match=missing[public_name]):
                    getattr(of, public_name)
                with pytest.raises(ImportError, match=missing[public_name]):
                    exec(f"from {of.__name__} import {public_name}")
        with pytest.raises(AttributeError):
            _ = of.nothing_at_all


SERVERS: tuple[tuple[str, str, str], ...] = (
    ("default", "https://example.com/mcp", "open_http: generate it with --with http-client"),
    ("http-client", "python server.py", "stdio_client: generate it with --with stdio"),
)


def test_connect_names_the_part_that_would_bring_the_transport(
    make_package: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, server, message in SERVERS:
        with tables.case(name):
            package = load_package(make_package(name), monkeypatch)
            with pytest.raises(ImportError, match=message):
                package.connect(server)
            assert package.connect is package.connect


WRONG = "from {0} import http_app, Bridge\nprint(http_app, Bridge)\n"
UNKNOWN = ("[reportAttributeAccessIssue]", "[attr-defined]")


def test_mounting_foreign_server_needs_named_part(
    make_package: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = load_package(make_package("default"), monkeypatch)
    app = package.load(REVISION).App("above")
    with pytest.raises(ImportError, match=r"without Bridge: generate it with --with bridge"):
        app.mount("x", connect_to="https://example.org/mcp")
    app.mount("x", package.load(REVISION).App("below"))


def test_type_checkers_see_what_is_there_alone(make_package: Callable[[str], Path]) -> None:
    *others, last = (name for name in SETS if name != "all")
    folders = {
        name: make_package(name) for name in (*tables.some(others, 1, "checked parts"), last)
    }
    wrong = {name: folder.with_name(f"wrong_{folder.name}.py") for name, folder in folders.items()}
    for name, folder in folders.items():
        wrong[name].write_text(WRONG.format(folder.name))
    place = folders[last].parent
    checked = [path.name for path in (*folders.values(), *wrong.values())]
    for checker in tables.some(CHECKERS, 1, "type checkers of parts"):
        # Modules of the runtime are checked elsewhere, and have all their imports here.
        found = find_objections(checker, place, checked, unchecked=["_runtime"])
        assert {file for file, _ in found} <= {path.name for path in wrong.values()}
        for name, path in wrong.items():
            with tables.case(f"{name} by {checker}"):
                missing = missing_names(SELECTIONS[name, False])
                texts = chain(*(found[at] for at in found if at[0] == path.name))
                refused = [text for text in texts if text.endswith(UNKNOWN)]
                assert len(refused) == len({"http_app", "Bridge"} & {*missing})


PROGRAM = """
from {package} import run_stdio, {module} as mcp
from {package}.{module} import models as m


class Clock(mcp.Server):
    async def on_call_tool(self, session, params):
        return m.CallToolResult(content=[m.TextContent(text="noon")])


if __name__ == "__main__":
    run_stdio(Clock())
"""


async def test_a_package_of_one_part_does_its_work_alone(
    make_package: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdio = make_package("stdio")
    program = stdio.parent / "clock.py"
    program.write_text(PROGRAM.format(package=stdio.name, module=FOLDER))
    by_stdio, server, client = (
        load_package(make_package(name), monkeypatch)
        for name in ("stdio", "http-server", "http-client")
    )
    served = PROGRAM.replace("run_stdio, ", "").format(package=server.__name__, module=FOLDER)
    names: dict[str, Any] = {"__name__": "served"}
    exec(served, names)

    opener = by_stdio.stdio_client([sys.executable, str(program)])
    async with by_stdio.connect(opener, by_stdio.load(REVISION).Client()) as caller:
        assert await call_time(caller, by_stdio) == "noon"
    app = server.http_app(names["Clock"]())
    async with run_app(app) as port:
        mine = client.load(REVISION).Client()
        async with client.connect_http(f"http://127.0.0.1:{port}/mcp", mine) as caller:
            assert await call_time(caller, client) == "noon"
        await app.close()


async def call_time(caller: Any, package: ModuleType) -> str:
    """Return the text that a tool gives."""
    result = await caller.call_tool("time")
    text: str = result.content[0].text
    return text
