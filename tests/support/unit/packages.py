"""Small packages and a stand-in for the generator, for tests of everything around generation."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.output.publish import PublishResult, publish
from mcp_protogen.pipeline.output.workspace import exclusive
from mcp_protogen.pipeline.package import GeneratedFile, GenerationInputs, Package, RevisionInputs

REVISION = RevisionInputs(
    source="pinned",
    published="a" * 64,
    spec_commit=None,
    schema="b" * 64,
    patches="c" * 64,
    facts="d" * 64,
    descriptions="e" * 64,
)
INPUTS = GenerationInputs(
    generator="mcp-gen 1",
    generator_digest="1" * 64,
    runtime_digest="2" * 64,
    templates_digest="3" * 64,
    options={},
    revisions={"2025-11-25": REVISION},
)


def package(files: Mapping[str, str], inputs: GenerationInputs = INPUTS) -> Package:
    """A package of texts by path."""
    made = (GeneratedFile(path, text.encode(), "test") for path, text in sorted(files.items()))
    return Package(tuple(made), inputs)


LATER = INPUTS._replace(generator="mcp-gen 2")


def with_revisions(names: Iterable[str], source: str = "pinned") -> GenerationInputs:
    """Inputs that list the revisions named."""
    return INPUTS._replace(revisions={name: REVISION._replace(source=source) for name in names})


OLD = package({"__init__.py": "old", "v2025_11_25/models.py": "old", "v2025_11_25/gone.py": "old"})
NEW = package(
    {"__init__.py": "new", "v2025_11_25/models.py": "old", "v2026_07_28/models.py": "new"}, LATER
)


def put(made: Package, folder: Path, *, force: bool = False) -> PublishResult:
    """Publish a package as the command line does."""
    with exclusive(folder) as space:
        return publish(made, space, force=force)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder, hidden files too; None stands for a folder."""
    return {
        path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def beside(folder: Path) -> list[str]:
    """The names in the folder that contains `folder`."""
    return sorted(path.name for path in folder.parent.iterdir())


def codes(caught: pytest.ExceptionInfo[ProblemError]) -> list[str]:
    return [problem.code for problem in caught.value.problems]


def forge(out: Path, **texts: str) -> None:
    """Edit files, which are named without `.py`, and the lock to fit."""
    lock = json.loads((out / LOCK_NAME).read_text())
    for name, text in texts.items():
        (out / f"{name}.py").write_text(text)
        lock["files"][f"{name}.py"] = {"sha256": sha256(text.encode()), "origin": "test"}
    (out / LOCK_NAME).write_text(json.dumps(lock))
