"""A folder of vectors: writing it completely or not at all, and checking it.

Vectors of other revisions and all other files in the folder stay as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_protogen.base.canonical import parse_json, sha256
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError, raising
from mcp_protogen.instep.vectors.writing import SCHEMA_NAME
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.output.tree import Tree, parents, read_tree
from mcp_protogen.pipeline.output.workspace import Workspace, exclusive


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Names of files, sorted: new ones, changed ones, and all others."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    warnings: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.created or self.changed)


def compare(folder: Path, files: Mapping[str, bytes]) -> FolderChanges:
    """Return the changes that writing `files` would make in a folder."""
    if folder.exists() and not folder.is_dir():
        raise ProblemError(Problem("not-a-folder", "this is not a folder", str(folder)))
    return _changes(read_tree(folder), files)


def write(folder: Path, files: Mapping[str, bytes], *, force: bool = False) -> FolderChanges:
    """Write `files` into a folder, completely or not at all.

    With `force`, other files with these names are overwritten. Raise `ProblemError` with all
    obstacles.
    """
    with exclusive(folder) as space:
        tree = read_tree(space.output)
        changes = _changes(tree, files)
        _refuse_obstacles(space, tree, changes, force=force)
        return _replace(space, tree, changes, files) if changes else changes


def _changes(tree: Tree, files: Mapping[str, bytes]) -> FolderChanges:
    names = sorted(files)
    return FolderChanges(
        created=tuple(name for name in names if name not in tree.files),
        changed=tuple(n for n in names if tree.files.get(n, "") not in ("", sha256(files[n]))),
        unchanged=tuple(name for name in names if tree.files.get(name) == sha256(files[name])),
    )


@raising
def _refuse_obstacles(
    space: Workspace, tree: Tree, changes: FolderChanges, *, force: bool
) -> Iterator[Problem]:
    if LOCK_NAME in tree.files:
        hint = "choose another folder, such as one beside it"
        message = "this folder contains a generated package, which cannot contain vectors"
        yield Problem("foreign-file", message, str(space.named), hint=hint)
    for name in sorted({*changes.created, *changes.changed} & tree.folders):
        message = "a folder has the name of a file that must be written here"
        yield Problem("foreign-file", message, str(space.named / name))
    for name in changes.changed:
        if not force and not _is_ours(space.output / name):
            message = "a file that mcp-gen did not write has the name of a file of vectors"
            hint = "choose another folder, move it away, or overwrite it with --force"
            yield Problem("foreign-file", message, str(space.named / name), hint=hint)
    if changes and Path.cwd().is_relative_to(space.output):
        message = "the working directory is in the output folder, which is replaced as a whole"
        hint = f"change to another folder and name this one: --out {space.output.name}"
        yield Problem("inside-output", message, str(space.named), hint=hint)


def _is_ours(path: Path) -> bool:
    """Return whether a file has the format of vectors or of their schema, whatever its state."""
    try:
        value = parse_json(path.read_bytes(), str(path))
    except (OSError, ProblemError):
        return False
    if path.name == SCHEMA_NAME:
        return is_object(value) and "$schema" in value
    return is_object(value) and "format" in value and is_array(value.get("vectors"))


def _replace(
    space: Workspace, tree: Tree, changes: FolderChanges, files: Mapping[str, bytes]
) -> FolderChanges:
    written = {name: files[name] for name in (*changes.created, *changes.changed)}
    kept = [name for name in tree.files if name not in written]
    folders = {*tree.folders, *(parent for name in kept for parent in parents(name))}
    leftovers = space.replace(written, kept, folders, {*written, *changes.unchanged})
    return replace(changes, warnings=leftovers)
