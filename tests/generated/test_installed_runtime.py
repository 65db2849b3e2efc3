"""Packages without their own runtime use an installed one."""

import ast
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen import __version__
from mcp_protogen.base.names import Era, module_name
from mcp_protogen.base.resources import runtime_folder, schema_folder, templates_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit import layout
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.emit.template_contexts import ListedRevision
from mcp_protogen.pipeline.inputs.facts import package_transports
from mcp_protogen.pipeline.inputs.pins import snapshot_file
from mcp_protogen.pipeline.output.lock import read_lock
from mcp_protogen.pipeline.package import GeneratedFile, Package
from mcp_protogen.pipeline.parts import DEFAULT
from mcp_protogen.runtime.core import version_check
from support.folders import ROOT
from support.generated.package_copy import copied_package
from support.generated.type_checkers import assert_nothing_found
from support.generating import generate_little, require_importable, write_files
from support.made_once import generated_once
from support.programs import run_program
from support.running import Ran, Run
from support.tables import case

NAME = "mcp_protogen_runtime"
OPTIONS = GenerationOptions(("2025-11-25", "2026-07-28"), runtime=NAME)
SERVER = """
from pkg import REVISIONS, Toolkit, run_stdio, tool
from pkg import v2025_11_25 as mcp


class Greeter(Toolkit, mcp.Server):
    @tool
    def greet(self, name: str = "world") -> str:
        return f"Hello, {name}"


if __name__ == "__main__":
    run_stdio(Greeter(), revisions=REVISIONS)
"""
CLIENT = """
import asyncio
import sys

from pkg import Options, connect, connect_in_memory, stdio_client, translate
from pkg import v2025_11_25 as old
from pkg import v2026_07_28 as new
from server import Greeter


async def main() -> None:
    asked = old.models.CallToolRequestParams(name="greet", arguments={"name": "Ada"})
    async with connect_in_memory(old.Client(), Greeter()) as client:
        print((await client.request(old.methods.CALL_TOOL, asked)).to_json().decode())
    async with connect(stdio_client([sys.executable, "server.py"]), old.Client()) as client:
        print((await client.request(old.methods.CALL_TOOL, asked)).to_json().decode())
    options = Options(timeout=20)
    opening = stdio_client([sys.executable, "server.py"])
    async with connect(opening, new.Client(), options=options) as stateless:
        print((await stateless.call_tool("greet")).content[0].to_json().decode())
    print(translate(old.models.TextContent(text="x"), old, new).value)


asyncio.run(main())
"""


def rename_runtime(monkeypatch: pytest.MonkeyPatch, name: str, version: str) -> None:
    """Change the name and version of the runtime, as the check of versions sees them."""
    monkeypatch.setattr(version_check, "__name__", f"{name}.core.version_check")
    monkeypatch.setattr(version_check, "__version__", version)


def test_a_runtime_serves_packages_of_its_version_and_of_those_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rename_runtime(monkeypatch, NAME, "0.10.2")
    monkeypatch.setattr(version_check, "SERVES_FROM", "0.9")
    for made_for in ("0.9", "0.9.0", "0.9.12", "0.10.0rc1", "0.10.2"):
        version_check.require_version(made_for, "pkg")
    for made_for in ("0.8.9", "0.10.3", "0.11", "1.0.0"):
        with pytest.raises(ImportError) as caught:
            version_check.require_version(made_for, "pkg")
        said = f"pkg was generated for mcp_protogen_runtime {made_for}, and 0.10.2 is installed"
        mend = f"pip install 'mcp-protogen-runtime=={made_for}'; or generate pkg anew"
        assert str(caught.value) == f"{said}: {mend} with mcp-gen 0.10.2: mcp-gen sync"
        assert caught.value.name == NAME


def test_a_runtime_of_another_name_is_not_looked_for_at_an_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rename_runtime(monkeypatch, "ours.runtime", "0.1.0")
    with pytest.raises(ImportError, match=r"ours\.runtime 0\.2\.0, .*: install version 0\.2\.0"):
        version_check.require_version("0.2.0", "pkg")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an installed runtime, a package, and programs."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(runtime_folder(), folder / NAME, ignore=shutil.ignore_patterns("__pycache__"))
    write_files(generated_once(OPTIONS).files, folder / "pkg")
    (folder / "server.py").write_text(SERVER)
    (folder / "client.py").write_text(CLIENT)
    return folder


def ran(place: Path, *command: str | Path) -> list[str]:
    """Run Python with package and runtime; return the printed lines."""
    output = run_program(
        sys.executable, *command, cwd=place, env={**os.environ, "PYTHONPATH": str(place)}
    )
    return output.splitlines()


def as_copied(text: str, path: str) -> str:
    """Return a module with the imports it would have beside a copy of the runtime."""
    text = text.replace(f"from {NAME}.", f"from {'.' * (path.count('/') + 1)}_runtime.")
    return text.replace(f'f"{NAME}.', 'f"{__name__}._runtime.')


def without_extensions(text: str) -> str:
    """Return a revision's module as it is without extensions."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__mcp_part__":
            node.body = [statement for statement in node.body if not isinstance(statement, ast.If)]
    return ast.unparse(tree)


def dump_statements(text: str) -> list[str]:
    """Return the statements of a module, with its imports sorted by name."""
    body = ast.parse(text).body
    for block in (body, *(statement.body for statement in body if isinstance(statement, ast.If))):
        block.sort(key=lambda node: ast.dump(node) if isinstance(node, ast.ImportFrom) else "")
    return [*map(ast.dump, body)]


def test_modules_are_the_same_as_with_a_copy_but_for_imports(place: Path) -> None:
    modules = {path.relative_to(place / "pkg").as_posix() for path in place.rglob("pkg/**/*.py")}
    assert modules == {file.path for file in generated_once(OPTIONS).files} - {"py.typed"}
    assert not [path for path in modules if path.startswith("_runtime")]
    # These two depend on the parts.
    for path in modules - {"__init__.py", "app.py"}:
        installed = as_copied((place / "pkg" / path).read_text(), path)
        copied = (copied_package() / path).read_text()
        # The copy has extensions, and the other package none.
        assert dump_statements(installed) == dump_statements(without_extensions(copied))
    eras: dict[str, Era] = {"2025-11-25": "handshake", "2026-07-28": "stateless"}
    listed = tuple(ListedRevision(id, era, module_name(id)) for id, era in eras.items())
    renderer = Renderer(templates_folder())
    transports = package_transports(schema_folder(), eras)
    selection = OPTIONS.selection._replace(transports=transports)
    made = layout.package_modules(listed, [listed[-1].module], selection, renderer)
    offered = {module.path: dump_statements(module.text) for module in made}
    check = f"from {NAME}.core.version_check import require_version\n\n"
    check += f'require_version("{__version__}", __name__)\n'
    top = (place / "pkg" / "__init__.py").read_text()
    assert top.count(check) == 1
    others = {"__init__.py": top.replace(check, "")}
    others["app.py"] = (place / "pkg" / "app.py").read_text()
    assert offered == {
        path: dump_statements(as_copied(text, path)) for path, text in others.items()
    }


def test_parts_decide_what_a_package_offers_of_the_installed_runtime(place: Path) -> None:
    program = """
import pkg
from pkg import Toolkit
try:
    from pkg import http_app
except ImportError as error:
    print(Toolkit.__module__, error, sep="; ")
"""
    need = "pkg was generated without http_app: generate it with --with http-server"
    assert ran(place, "-c", program) == [f"{NAME}.toolkit.server; {need}"]
    assert generated_once(OPTIONS).inputs.options == {"runtime": NAME, "with": [*DEFAULT]}


def test_servers_and_clients_talk_in_memory_and_over_stdio(place: Path) -> None:
    *answers, block, translated = ran(place, "client.py")
    greeting = {
        "content": [{"type": "text", "text": "Hello, Ada"}],
        "structuredContent": {"result": "Hello, Ada"},
    }
    assert [json.loads(answer) for answer in answers] == [greeting, greeting]
    assert json.loads(block) == {"type": "text", "text": "Hello, world"}
    assert translated.startswith("type='text' text='x'")


def test_the_demo_shows_the_same_with_either_runtime(place: Path, tmp_path: Path) -> None:
    (tmp_path / "pkg").symlink_to(copied_package(), target_is_directory=True)
    installed, copied = (ran(folder, ROOT / "examples" / "demo.py") for folder in (place, tmp_path))
    shown = copied[copied.index("") :]
    assert shown[-1] == "The tool says: Sunny in Lisbon"
    assert installed[installed.index("") :] == shown
    assert "_runtime/" in "".join(copied) and "_runtime/" not in "".join(installed)


def test_importing_a_package_asks_for_the_version_and_imports_next_to_nothing(place: Path) -> None:
    program = f"""
import sys
at_start = set(sys.modules)
import pkg
print(*sorted(set(sys.modules) - at_start - sys.stdlib_module_names))
for name in [name for name in sys.modules if name.startswith("pkg")]:
    del sys.modules[name]
from {NAME}.core import version_check
version_check.__version__ = "0.0.9"
try:
    import pkg.v2025_11_25.models
except ImportError as error:
    print(error, "pydantic" in sys.modules)
"""
    loaded, refusal = ran(place, "-c", program)
    modules = ("core", "core.revision", "core.version_check")
    assert loaded.split() == [NAME, *(f"{NAME}.{module}" for module in modules), "pkg"]
    assert refusal.startswith(f"pkg was generated for {NAME} {__version__}, and 0.0.9 is installed")
    assert refusal.endswith("False")


def test_type_checkers_find_nothing_wrong(place: Path) -> None:
    assert_nothing_found(place, ["pkg", "server.py", "client.py"], "an installed runtime")


@pytest.mark.parametrize("module", ["ours.shared.runtime", "generated"])
def test_a_package_is_tried_with_our_runtime_under_any_name(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{module.partition('.')[0]}.py").write_text("import os; os.mkdir('executed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = generated_once(OPTIONS)
    files = (
        file._replace(content=file.content.replace(NAME.encode(), module.encode()))
        for file in made.files
        if not file.path.startswith("v2026")
    )
    require_importable(Package(tuple(files), made.inputs._replace(options={"runtime": module})))
    assert not (tmp_path / "executed").exists()


def generate_with_runtime(options: GenerationOptions) -> Package:
    """Return a package of few files, with a copy of a runtime of two unless one is installed."""
    made = generate_little(options)
    copied = () if options.runtime else ("_runtime/__init__.py", "_runtime/core/errors.py")
    files = (*made.files, *(GeneratedFile(path, b"1\n", "runtime") for path in copied))
    return made._replace(files=tuple(sorted(files, key=lambda file: file.path)))


@pytest.fixture
def switching(little: None, monkeypatch: pytest.MonkeyPatch, mcp_gen: Run) -> Run:
    """Return a function that runs `mcp-gen` on one package, with a fast generator."""
    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generate_with_runtime)
    return lambda *arguments: mcp_gen(*arguments, "--out", "pkg")


def runtime_of(package: Path = Path("pkg")) -> Any:
    """Return the installed runtime that a lock names, and whether there is a copy."""
    return options_of(package).get("runtime"), (package / "_runtime").exists()


def test_which_runtime_a_package_has_is_kept_until_somebody_says_otherwise(
    switching: Run, mcp_gen: Run
) -> None:
    assert switching("--revision", "2025-11-25").code == 0
    assert runtime_of() == (None, True)
    moved = switching("--check", "--runtime", NAME)
    assert moved.code == 1 and f"runtime was not set and is '{NAME}'" in moved.out
    assert "runtime-moved" not in moved.out
    assert switching("--runtime", NAME).code == 0
    assert runtime_of() == (NAME, False)
    assert switching("--revision", "2025-06-18").code == 0
    assert mcp_gen("sync", "pkg").code == mcp_gen("sync", "pkg", "--check").code == 0
    assert switching("--check").code == switching("--check", "--runtime", NAME).code == 0
    assert runtime_of() == (NAME, False)
    assert switching("--check", "--runtime", "copy").code == 1
    assert switching("--runtime", "copy").code == 0
    assert runtime_of() == (None, True)
    Path("pyproject.toml").write_text(f'[tool.mcp-gen]\nout = "pkg"\nruntime = "{NAME}"\n')
    assert mcp_gen("--check").code == 1
    assert mcp_gen("sync").code == 0
    assert runtime_of() == (NAME, False)


def test_parts_and_runtime_change_each_without_the_other(switching: Run) -> None:
    assert switching("--revision", "2025-11-25", "--with", "bridge", "--runtime", NAME).code == 0
    assert switching("--with", "stdio").code == switching("--check", "--runtime", NAME).code == 0
    assert options_of() == {"runtime": NAME, "with": ["bridge", "stdio"]}
    assert switching("--runtime", "copy").code == 0
    assert options_of() == {"with": ["bridge", "stdio"]}
    assert switching("--prune", "--with", "none").code == 0
    assert options_of() == {"with": []}


def options_of(package: Path = Path("pkg")) -> Mapping[str, Any]:
    """Return the options in a lock."""
    lock = read_lock(package)
    assert lock is not None
    return lock.inputs.options


def test_an_edited_copy_of_the_runtime_goes_by_force_only(switching: Run) -> None:
    switching("--revision", "2025-11-25")
    edited = Path("pkg/_runtime/core/errors.py")
    edited.write_text("mine\n")
    refused = switching("--runtime", NAME)
    assert refused.code == 2 and "error[edited-file]: pkg/_runtime/core/errors.py" in refused.err
    assert edited.read_text() == "mine\n" and runtime_of() == (None, True)
    assert switching("--runtime", NAME, "--force").code == 0
    assert runtime_of() == (NAME, False)


def lay_out_as_before() -> Path:
    """Make the copy that of an earlier version with a module elsewhere; return its place."""
    module = Path("pkg/_runtime/core/errors.py")
    old = module.parents[1] / "before" / module.name
    old.parent.mkdir()
    module.rename(old)
    module.parent.rmdir()
    file = Path("pkg/mcp-gen.lock")
    lock = json.loads(file.read_bytes())
    place = module.relative_to("pkg").as_posix()
    lock["files"][old.relative_to("pkg").as_posix()] = lock["files"].pop(place)
    changed = {"generator": "mcp-gen 0.0.9", "runtime_digest": "0" * 64}
    file.write_text(json.dumps(lock | changed))
    return old


def test_modules_that_have_moved_since_an_earlier_version_leave_nothing_behind(
    switching: Run, mcp_gen: Run
) -> None:
    switching("--revision", "2025-11-25")
    moves: Mapping[str, tuple[Callable[[], Ran], str | None]] = {
        "another run": (switching, None),
        "sync": (partial(mcp_gen, "sync", "pkg"), None),
        "an installed runtime": (partial(switching, "--runtime", NAME), NAME),
    }
    for name, (move, runtime) in moves.items():
        with case(name):
            old = lay_out_as_before()
            assert switching("--check").code == 1
            assert move().code == 0
            assert runtime_of() == (runtime, runtime is None)
            assert not old.parent.exists()
            assert Path("pkg/_runtime/core/errors.py").exists() == (runtime is None)
            assert switching("--check").code == 0


def test_a_revision_that_cannot_be_made_anew_keeps_its_runtime(switching: Run) -> None:
    draft = ("--revision", "2025-12-01", "--schema", str(snapshot_file("2025-11-25")))
    assert switching(*draft, "--runtime", NAME).code == 0
    for module in ("copy", "ours.runtime"):
        refused = switching("--revision", "2025-11-25", "--runtime", module)
        assert refused.code == 2 and "error[needs-schema]" in refused.err
        assert runtime_of() == (NAME, False)
    assert switching(*draft, "--runtime", "ours.runtime").code == 0
    assert runtime_of() == ("ours.runtime", False)


def test_invalid_runtime_module_is_single_clear_error(switching: Run) -> None:
    reasons = {
        "mcp-protogen-runtime": "is not the name of a module",
        ".runtime": "is not the name of a module",
        "a..b": "is not the name of a module",
        "os; import x": "is not the name of a module",
        "rüntime": "is not the name of a module",
        "ours.class": "has the keyword class in it",
        "json.runtime": "is in json, which is not a runtime",
        "pydantic": "is in pydantic, which is not a runtime",
    }
    for name, reason in reasons.items():
        refused = switching("--revision", "2025-11-25", "--runtime", name)
        assert refused.code == 2 and refused.err.count("error[") == 1
        said = f"error[unsafe-name]: {name!r} cannot be the module of a runtime: it {reason}"
        assert refused.err.startswith(said)
        assert not Path("pkg").exists()
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nrevision = "2025-11-25"\nruntime = "a-b"\n')
    assert "error[unsafe-name]: 'a-b'" in switching().err
    Path("pyproject.toml").unlink()
    switching("--revision", "2025-11-25", "--runtime", NAME)
    lock = Path("pkg/mcp-gen.lock")
    lock.write_text(lock.read_text().replace(f'"runtime": "{NAME}"', '"runtime": ["os"]'))
    assert switching("--check").err.startswith("error[unsafe-name]: ['os'] cannot be the module")
    lock.write_text(json.dumps({**json.loads(lock.read_bytes()), "options": [NAME]}))
    assert switching("--check").err.startswith("error[bad-lock]")
