"""A package is imported before it is put in place; nothing else is."""

import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile, GivenPatches
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.output import trial
from mcp_protogen.pipeline.output.trial import find_untried, import_package, is_tried
from mcp_protogen.pipeline.package import GeneratedFile, Package
from support import made_once, tables
from support.generating import require_importable
from support.revisions import OLD, REVISIONS, STATELESS
from support.running import Run
from support.unit import packages, schemas

REVISION = "2025-11-25"


@pytest.fixture(scope="module")
def whole() -> Package:
    return made_once.generated_once(GenerationOptions((REVISION,), parts=("bridge",)))


def refusals(package: Package) -> Iterator[tuple[str, str, str]]:
    with pytest.raises(ProblemError) as caught:
        require_importable(package)
    return ((problem.code, problem.place, problem.message) for problem in caught.value.problems)


def append_texts(package: Package, **texts: str) -> Package:
    """Append texts to some files of a package, which are named without `.py`."""
    files = (
        file._replace(content=file.content + texts.get(file.path[:-3], "").encode())
        for file in package.files
    )
    return Package(tuple(files), package.inputs)


def test_package_imports_from_any_working_directory(
    whole: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trap in ("pydantic.py", "json.py", "sitecustomize.py", "generated.py"):
        (tmp_path / trap).write_text("import os; os.mkdir('executed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    before = sorted(os.listdir(tmp_path))
    require_importable(whole)
    assert sorted(os.listdir(tmp_path)) == before


def test_each_module_that_cannot_be_imported_is_named(whole: Package) -> None:
    folder = "v2025_11_25"
    broken = append_texts(
        whole,
        **{
            f"{folder}/capabilities": "\nfrom .. import nothing_of_ours\n",
            "bridge": "\n__all__ += ['Nothing']\n",
        },
    )
    found = {(code, place): message for code, place, message in refusals(broken)}
    assert {code for code, _ in found} == {"bad-output"}
    assert "nothing_of_ours" in found["bad-output", f"{folder}/capabilities.py"]
    assert "Nothing" in found["bad-output", "bridge.py"]


def test_a_revision_that_is_kept_as_it_is_is_not_looked_for(whole: Package) -> None:
    kept = {**whole.inputs.revisions, "my-draft": packages.REVISION}
    listing = append_texts(whole, __init__="\n__all__ += ['vmy_draft']\n")
    require_importable(listing._replace(inputs=whole.inputs._replace(revisions=kept)))


def test_failure_before_a_connection_has_the_place_of_the_schema(whole: Package) -> None:
    for module, text, said in (
        ("server", "Server.__init__ = lambda self: 1 / 0", " by initialize: ZeroDivisionError: "),
        ("methods", "TABLE = None", ": AttributeError: "),
    ):
        with tables.case(module):
            broken = append_texts(whole, **{f"v2025_11_25/{module}": f"\n{text}\n"})
            with pytest.raises(ProblemError) as caught:
                require_importable(broken, [REVISION])
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == (
                "failed-trial",
                f"schema/{REVISION}/schema.json",
            )
            assert problem.message.startswith(f"no connection is opened{said}")


def test_a_model_that_cannot_be_built_is_named() -> None:
    package = packages.package(
        {
            "__init__.py": "",
            "v1/__init__.py": "",
            "v1/models/__init__.py": "from pydantic import BaseModel, ConfigDict\n__all__ = ['A']\n"
            "class A(BaseModel):\n    model_config = ConfigDict(defer_build=True)\n    x: 'Gone'\n",
        }
    )
    ((code, place, message),) = refusals(package)
    assert (code, place) == ("bad-output", "v1/models/__init__.py")
    assert "Gone" in message


def test_an_interpreter_that_does_not_answer_is_a_refusal() -> None:
    ended = "could not be imported for a trial: its interpreter ended with 7 before it answered"
    for program, message in (
        ("os._exit(7)", ended),
        ("os.write(2, b'one\\nno memory\\n'); os._exit(7)", f"{ended}: no memory"),
        ("os.write(1, b'[1]'); os._exit(7)", ended),
        ("os.write(1, b'{}'); os._exit(7)", ended),
    ):
        with tables.case(program):
            package = packages.package({"__init__.py": f"import os\n{program}\n"})
            ((code, _, said),) = refusals(package)
            assert code == "bad-output"
            assert said.endswith(message)


def test_modules_of_ones_own_templates_are_not_run(whole: Package, tmp_path: Path) -> None:
    fatal = GeneratedFile("bridge.py", f"open({str(tmp_path / 'ran')!r}, 'w')".encode(), "mine")
    own = whole.inputs._replace(options={"templates": "own"})
    require_importable(Package((fatal,), own))
    assert not any(tmp_path.iterdir())


def test_unimportable_package_is_not_written(
    whole: Package, mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = append_texts(whole, **{"v2025_11_25/server": "\nundefined\n"})
    # Made by a generator that our tests do not know.
    broken = broken._replace(inputs=broken.inputs._replace(generator_digest="another"))

    def generate(options: GenerationOptions) -> Package:
        return broken

    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", generate)
    ran = mcp_gen("--revision", REVISION, "--out", "pkg")
    assert ran.code == 2
    assert "error[bad-output]: v2025_11_25/server.py: cannot be imported: NameError" in ran.err
    assert not any(tmp_path.iterdir())
    assert mcp_gen("new", "clock", "--revision", REVISION).code == 2
    assert not any(tmp_path.iterdir())
    assert mcp_gen("--revision", REVISION, "--out", "pkg", "--dry-run").code == 0


def test_files_of_the_users_own_beside_generated_ones_are_not_run(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trial, "try_package", import_package)
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')"
    for place in ("pkg/mine.py", "pkg/v2025_11_25/errors/__init__.py", "pkg/bridge/__init__.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(trap)
    assert mcp_gen("--revision", REVISION, "--out", "pkg", "--force").code == 0
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.rglob("__pycache__"))


def test_revisions_of_our_tests_are_not_tried_again() -> None:
    options = GenerationOptions(REVISIONS)
    inputs = read_inputs(options)
    assert find_untried(inputs, options) == []
    assert is_tried(inputs, options)
    patch = GivenPatches(STATELESS, ({"pointer": "/$defs/Tool", "now": {}},), "mine.json", "")
    schema = GivenFile("mine.json", read_snapshot(STATELESS))
    for of_users, found in (
        (options._replace(patches=(patch,)), [STATELESS]),
        (options._replace(patches=(patch._replace(revision=""),)), [*REVISIONS]),
        (options._replace(names=schema), [*REVISIONS]),
        (options._replace(schemas={STATELESS: schema}), []),
        (options._replace(revisions=("2099-01-01",), schemas={"2099-01-01": schema}), []),
        (options._replace(schemas={OLD: schema._replace(content=b'{"$defs": {}}')}), [OLD]),
    ):
        with tables.case(found):
            changed = read_inputs(of_users)
            assert find_untried(changed, of_users) == found
            assert not is_tried(changed, of_users)
    for of_users in (
        options._replace(rules={STATELESS: schema}),
        options._replace(extensions={"tasks": None}),
        options._replace(parts=("http-client", "toolkit")),
        options._replace(parts=()),
    ):
        with tables.case(of_users):
            assert not is_tried(inputs, of_users)
    assert is_tried(inputs, options._replace(parts=("toolkit", "testing", "stdio")))
    for others in (
        inputs._replace(generator_digest="another"),
        inputs._replace(templates_digest="another"),
    ):
        assert not is_tried(others, options)


def test_every_revision_is_tried_without_the_package_of_our_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = GenerationOptions(REVISIONS)
    (tmp_path / "mcp_revisions").mkdir()
    (tmp_path / "mcp_revisions/__init__.py").write_text("")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("sys.meta_path", [PathFinder])
    monkeypatch.delitem(sys.modules, "mcp_revisions", raising=False)
    for lock in (None, "{}"):
        with tables.case(lock):
            if lock:
                (tmp_path / "mcp_revisions/mcp-gen.lock").write_text(lock)
            assert find_untried(read_inputs(options), options) == [*REVISIONS]


def test_a_schema_without_what_a_side_declares_or_is_called_makes_a_package() -> None:
    document = schemas.schema()
    for name in ("ClientCapabilities", "ServerCapabilities"):
        del document["$defs"][name]
    package = schemas.make(document)
    require_importable(package)
    assert "from .._runtime.core.models import WireModel" in schemas.text_of(
        package, "vdraft/server.py"
    )
