"""The distribution as users get it: built, installed into empty environments, and run there."""

import json
import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.folders import ROOT
from support.generated.package_copy import copied_package
from support.programs import run_program

from releasing.contents import DISTRIBUTIONS, wrong_contents
from releasing.trying import SERVER

RUNTIME = ROOT / "codegen" / "mcp_protogen" / "runtime"
GOLDEN = ROOT / "generated" / "mcp_revisions"

# The bottom of every range in pyproject.toml; the top is what the rest of the suite runs on.
LOWEST = """
black==26.1.0
datamodel-code-generator==0.74.0
jinja2==3.1.6
jsonschema==4.23.0
pydantic==2.12.0
referencing==0.35.0
typer==0.18.0
"""

# The requirements of the runtime: Pydantic, and its requirements.
NEEDED = (
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "typing_extensions.py",
    "typing_inspection",
)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("packaging")]

ONE = ("--revision", "2025-11-25", "--out", "pkg")
EVERYTHING = ("--revision", "all", "--with", "all", "--extension", "all")
COMMITTED = (*EVERYTHING, "--runtime", "mcp_protogen.runtime", "--out", "pkg")


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """The output of a command that has to succeed."""
    return run_program(*map(str, command), cwd=cwd, env={**os.environ, **variables})


def environment(
    folder: Path, *requirements: str | Path, options: Sequence[str] = (), **variables: str
) -> Path:
    """The `bin` folder of a new environment that has `requirements` and nothing else."""
    venv.create(folder, with_pip=False)
    # Only a part is ever used, and is compiled then.
    pip = (sys.executable, "-m", "pip", "--python", folder, "install", "-q", "--no-compile")
    run(*pip, *options, *requirements, cwd=folder, **variables)
    return folder / "bin"


def packages_in(binaries: Path) -> Path:
    (site,) = binaries.parent.glob("lib/python3*/site-packages")
    return site


@pytest.fixture(scope="module")
def building(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment for building both projects, made once."""
    files = [(folder / "pyproject.toml").read_text() for folder in (ROOT, RUNTIME)]
    needed = {
        requirement
        for text in files
        for requirement in tomllib.loads(text)["build-system"]["requires"]
    }
    binaries = environment(tmp_path_factory.mktemp("building") / "venv", *needed)
    return {"PYTHONPATH": str(packages_in(binaries))}


def built(project: Path, folder: Path, building: Mapping[str, str]) -> Path:
    """The folder, with the sdist of a project and the wheel that was built from it."""
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project)
    run(*command, cwd=folder, **building)
    return folder


@pytest.fixture(scope="module")
def dist(building: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"), building)


@pytest.fixture(scope="module")
def runtime_wheel(building: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_in(built(RUNTIME, tmp_path_factory.mktemp("runtime"), building))


@pytest.fixture(scope="module")
def wheel_environment(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that has the wheel and the lowest that it asks for."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "lowest.txt").write_text(LOWEST)
    options = ("--constraint", str(folder / "lowest.txt"))
    return environment(folder / "venv", wheel_in(dist), options=options)


def link_needed(installed: Path, binaries: Path) -> None:
    """Give an environment the requirements of the runtime that another has."""
    for name in NEEDED:
        (packages_in(binaries) / name).symlink_to(packages_in(installed) / name)


def wheel_in(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def assert_golden(package: Path, golden: Path = GOLDEN) -> None:
    """Require that `package` equals the committed one, byte for byte."""
    made, wanted = (
        {
            path.relative_to(folder): path
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        for folder in (package, golden)
    )
    assert made.keys() == wanted.keys()
    differing = [str(path) for path in made if made[path].read_bytes() != wanted[path].read_bytes()]
    assert differing == []


def test_wheel_writes_the_committed_bytes_with_the_lowest_dependencies(
    wheel_environment: Path, tmp_path: Path
) -> None:
    mcp_gen = wheel_environment / "mcp-gen"
    run(mcp_gen, *COMMITTED, cwd=tmp_path)
    assert_golden(tmp_path / "pkg")
    assert_golden(packages_in(wheel_environment) / "mcp_revisions")
    run(mcp_gen, *COMMITTED, "--check", cwd=tmp_path)
    load = "import pkg; pkg.load('2026-07-28').Client()"
    run(wheel_environment / "python", "-c", load, cwd=tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    assert run(mcp_gen, "call", "server.py", "add", "a=1", "b=2", cwd=tmp_path) == "3\n"
    wrong = subprocess.run([mcp_gen, "new"], cwd=tmp_path, capture_output=True, text=True)
    assert (wrong.returncode, wrong.stderr.splitlines()[0][:19]) == (2, "error[wrong-usage]:")
    everything_else_works(wheel_environment, tmp_path)


def everything_else_works(binaries: Path, work: Path) -> None:
    """Require that the commands with their own data files find them."""
    page = run(
        *(binaries / "mcp-gen", "diff", "2025-11-25", "2026-07-28", "--format", "html"), cwd=work
    )
    assert page.startswith("<!doctype html>") and "tools/call" in page
    run(binaries / "mcp-gen", "vectors", "--revision", "2024-11-05", "--out", "vectors", cwd=work)
    audited = ("pkg.v2025_11_25", "--revision", "2025-11-25", "--no-vectors")
    run(binaries / "mcp-gen", "audit", *audited, cwd=work)
    # The one that is generated soonest.
    run(binaries / "mcp-gen", "new", "clock", "--revision", "2024-11-05", cwd=work)
    run(binaries / "mcp-gen", "sync", "clock", "--check", cwd=work)
    schema = {"$ref": "#/$defs/a%20b", "$defs": {"a b": {"properties": {"x": True}}}}
    reading = f"from mcp_protogen.servers.call.input_schemas import read_schema as read; {schema=}"
    shown = run(binaries / "python", "-c", f"{reading}; print(*read(schema).members)", cwd=work)
    assert shown == "x\n"
    assert "vectors" in run(binaries / "mcp-gen", "explain", "no-sample", cwd=work)


def test_sdists_and_wheels_have_what_is_listed_and_nothing_else(
    dist: Path, runtime_wheel: Path
) -> None:
    version = runtime_wheel.name.split("-")[1]
    for distribution, folder in zip(DISTRIBUTIONS, (dist, runtime_wheel.parent), strict=True):
        assert wrong_contents(distribution, version, folder, ROOT) == []


def test_the_wheel_says_which_published_schemas_are_in_it(dist: Path) -> None:
    version = wheel_in(dist).name.split("-")[1]
    with ZipFile(wheel_in(dist)) as archive:
        place = f"mcp_protogen-{version}.dist-info/sboms/mcp-protogen.cdx.json"
        bill = json.loads(archive.read(place))
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/mcp-protogen@{version}"
    listed = {
        component["name"]: component["externalReferences"][0]["hashes"][0]["content"]
        for component in bill["components"]
    }
    revisions = json.loads((ROOT / "schema" / "pins.json").read_bytes())["revisions"]
    extensions = json.loads((ROOT / "schema" / "extensions" / "pins.json").read_bytes())
    assert listed == {
        f"schema of {name}": pin["sha256"]
        for name, pin in {**revisions, **extensions["extensions"]}.items()
    }


CALL = """
import asyncio, pkg
from pkg import v2025_11_25 as mcp

class Kit(pkg.Toolkit, mcp.Server):
    @pkg.tool
    def add(self, a: int, b: int) -> int:
        return a + b

async def main():
    async with pkg.connect_in_memory(mcp.Client(), Kit()) as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).structured_content)

asyncio.run(main())
"""


def test_the_runtime_has_a_wheel_of_the_same_version_that_packages_can_stand_on(
    dist: Path, wheel_environment: Path, runtime_wheel: Path, tmp_path: Path
) -> None:
    version = wheel_in(dist).name.split("-")[1]
    with ZipFile(runtime_wheel) as archive:
        (place,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info" in name}
        assert place == f"mcp_protogen_runtime-{version}.dist-info"
        metadata = message_from_bytes(archive.read(f"{place}/METADATA"))
        needed = metadata.get_all("Requires-Dist", [])
        assert [requirement for requirement in needed if "extra ==" not in requirement] == [
            "pydantic<3,>=2.12"
        ]
        assert metadata.get_all("Provides-Extra") == [
            "auth",
            "keyring",
            "postgres",
            "redis",
            "skills",
        ]
        assert metadata["License-Expression"] == "Apache-2.0"
        inside = {name for name in archive.namelist() if ".dist-info" not in name}
        for name in ("LICENSE", "NOTICE"):
            content = (RUNTIME / name).read_bytes()
            assert archive.read(f"{place}/licenses/{name}") == content
            assert archive.read(f"mcp_protogen_runtime/{name}") == content
        top = archive.read("mcp_protogen_runtime/__init__.py")
    files = {
        *RUNTIME.rglob("*.py"),
        *(RUNTIME / name for name in ("LICENSE", "NOTICE", "py.typed")),
    }
    assert inside == {f"mcp_protogen_runtime/{path.relative_to(RUNTIME)}" for path in files}
    assert b"# SPDX-License-Identifier: Apache-2.0" in top
    run(wheel_environment / "mcp-gen", *ONE, "--runtime", "mcp_protogen_runtime", cwd=tmp_path)
    binaries = environment(tmp_path / "venv", runtime_wheel, options=("--no-deps",))
    link_needed(wheel_environment, binaries)
    assert run(binaries / "python", "-c", CALL, cwd=tmp_path) == "{'result': 3}\n"


def test_editable_install_sees_the_checkout(
    building: Mapping[str, str], wheel_environment: Path, tmp_path: Path
) -> None:
    options = ("--no-deps", "--no-build-isolation", "--editable")
    binaries = environment(tmp_path / "venv", ROOT, options=options, **building)
    site = packages_in(binaries)
    assert not {"mcp_protogen", "mcp_revisions"} & {path.name for path in site.iterdir()}
    # Other requirements are beside the wheel, and come after the checkout.
    (site / "others.pth").write_text(f"{packages_in(wheel_environment)}\n")
    run(binaries / "mcp-gen", "--revision", "all", "--out", GOLDEN, "--check", cwd=tmp_path)
    one = ("--revision", "2024-11-05", "--runtime", "mcp_protogen.runtime", "--out", "pkg")
    run(binaries / "mcp-gen", *one, cwd=tmp_path)
    assert_golden(tmp_path / "pkg" / "v2024_11_05", GOLDEN / "v2024_11_05")
    asked = (
        "import mcp_protogen, mcp_revisions; print(mcp_protogen.__file__, mcp_revisions.__file__)"
    )
    found = run(binaries / "python", "-c", asked, cwd=site).split()
    assert [Path(file).parent for file in found] == [ROOT / "codegen" / "mcp_protogen", GOLDEN]


IMPORT_ALL = """
from importlib import import_module
from pkgutil import walk_packages

import pkg

for module in walk_packages(pkg.__path__, "pkg."):
    import_module(module.name)
"""


def test_copied_package_is_imported_with_the_lowest_pydantic_alone(
    wheel_environment: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    binaries = tmp_path / "venv" / "bin"
    link_needed(wheel_environment, binaries)
    (tmp_path / "pkg").symlink_to(copied_package())
    run(binaries / "python", "-c", IMPORT_ALL, cwd=tmp_path)
    assert run(binaries / "python", "-c", CALL, cwd=tmp_path) == "{'result': 3}\n"
