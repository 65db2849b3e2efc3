"""Publication of a generated package into a folder, completely or not at all.

`changes` decides, and `workspace` acts: it replaces the folder in one step, and repairs it after a
kill.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.output.changes import OutputChanges, find_changes
from mcp_protogen.pipeline.output.lock import read_lock
from mcp_protogen.pipeline.output.tree import Tree, read_tree
from mcp_protogen.pipeline.output.workspace import Workspace
from mcp_protogen.pipeline.package import Package


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The result of a publication; paths are relative, and `written` includes `created`."""

    written: tuple[str, ...]
    created: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    warnings: tuple[Problem, ...] = ()


def publish(package: Package, space: Workspace, *, force: bool = False) -> PublishResult:
    """Put `package` into the locked folder; the user's own files stay.

    `force` overwrites edited files and files in the way. Raise `ProblemError` with all obstacles;
    then nothing has changed.
    """
    tree = read_tree(space.output)
    changes = _locate_problems(
        find_changes(package, read_lock(space.output), tree, force=force), space.named
    )
    raise_errors(changes.problems)
    if not changes.has_changes:
        return _result_of(changes, tree)
    _refuse_inside(space.output)
    linked = (*changes.unchanged, *changes.carried)
    expected = {*changes.written, *changes.unchanged, *changes.removed}
    leftovers = space.replace(changes.written, linked, changes.folders, expected)
    return _result_of(changes, tree, *leftovers)


def preview(package: Package, folder: Path, *, force: bool = False) -> tuple[OutputChanges, Tree]:
    """Return the changes of `publish` in `folder`, with the current tree."""
    tree = read_tree(folder)
    changes = find_changes(package, read_lock(folder), tree, force=force)
    return _locate_problems(changes, folder), tree


def _locate_problems(changes: OutputChanges, folder: Path) -> OutputChanges:
    """Return the changes with the places of their problems as paths of the user."""
    problems = (problem._replace(place=str(folder / problem.place)) for problem in changes.problems)
    return replace(changes, problems=tuple(problems))


def _result_of(changes: OutputChanges, tree: Tree, *warnings: Problem) -> PublishResult:
    paths = tuple(sorted(changes.written))
    created = tuple(path for path in paths if path not in tree.files)
    warnings = (*changes.problems, *warnings)
    return PublishResult(paths, created, changes.removed, len(changes.unchanged), warnings)


def _refuse_inside(folder: Path) -> None:
    """Raise `ProblemError` if the working directory is inside the folder.

    The folder is replaced as a whole, and a process inside it would be in a removed folder.
    """
    if Path.cwd().is_relative_to(folder):
        message = "the working directory is in the output folder, which is replaced as a whole"
        hint = f"change to another folder and name this one: --out {folder.name}"
        raise ProblemError(Problem("inside-output", message, str(folder), hint=hint))
