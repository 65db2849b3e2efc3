"""Creation of a project: its files and its generated package, put into place in one step.

Everything is generated before anything is written, so that a failure leaves nothing behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.output.lock import lock_file, lock_of
from mcp_protogen.pipeline.output.workspace import exclusive, repair
from mcp_protogen.pipeline.package_cache import make_package
from mcp_protogen.scaffold.choices import ProjectChoices
from mcp_protogen.scaffold.files import project_files, protocol_folder


@dataclass(frozen=True, slots=True)
class Created:
    """The files of a new project beside its generated package, by path."""

    files: tuple[str, ...]
    warnings: tuple[Problem, ...] = ()


def create(choices: ProjectChoices, folder: Path, *, cached: bool = True) -> Created:
    """Create the project in `folder`; raise `ProblemError` unless it is new or empty."""
    pinned: Mapping[str, GivenFile | None] = dict.fromkeys(choices.extensions)
    options = GenerationOptions(choices.revisions, parts=choices.parts, extensions=pinned)
    package = make_package(options, cached=cached)
    own = project_files(choices)
    protocol = protocol_folder(choices)
    generated = {f"{protocol}/{file.path}": file.content for file in package.files}
    lock = lock_file(lock_of(package, {}))
    generated[f"{protocol}/{lock.path}"] = lock.content
    with exclusive(folder) as space:
        _refuse(folder)
        with space.changing():
            space.stage({**own, **generated}, (), ())
            space.swap()
    return Created(tuple(sorted(own)), package.warnings)


def refuse_occupied(folder: Path) -> None:
    """Repair a folder; raise `ProblemError` if it cannot hold a new project."""
    repair(folder)
    _refuse(folder)


def _refuse(folder: Path) -> None:
    try:
        if problem := _find_obstacle(folder):
            raise ProblemError(problem)
    except OSError as error:
        message = error.strerror or str(error)
        raise ProblemError(Problem("cannot-read", message, str(folder))) from error


def _find_obstacle(folder: Path) -> Problem | None:
    if not folder.is_dir():
        there = folder.exists() or folder.is_symlink()
        return Problem("not-a-folder", "this is not a folder", str(folder)) if there else None
    found = next(folder.iterdir(), None)
    if found is not None:
        message = f"the folder is not empty: {found.name!r:.80} is in it"
        hint = "choose another folder with --out, or empty this one"
        return Problem("folder-not-empty", message, str(folder), hint=hint)
    if Path.cwd().is_relative_to(folder.resolve()):
        message = "this is the working directory, and a project's folder is put in place as a whole"
        hint = f"change to the folder above, and name this one: --out {folder.resolve().name}"
        return Problem("inside-output", message, str(folder), hint=hint)
    return None
