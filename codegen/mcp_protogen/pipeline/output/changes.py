"""The changes of a folder when a package is published into it, and obstacles to them.

There are three kinds of files. Generated ones are in the folder's lock with their digests. Kept
ones belong to a revision that this run does not generate. All others belong to the user and stay.
A lock is checked where possible: a file with the same inputs as before must be the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.names import extension_module, module_name
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.pipeline.output.lock import LOCK_NAME, Lock, LockedFile, lock_file, lock_of
from mcp_protogen.pipeline.output.tree import NOT_A_FILE, Tree, parents
from mcp_protogen.pipeline.package import (
    RUNTIME_FOLDER,
    GeneratedFile,
    GenerationInputs,
    Package,
    RevisionInputs,
    runtime_in,
)

_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class OutputChanges:
    """The changes of one publication; all paths are relative to the folder.

    `written` maps each new or different path to its bytes, including the lock; `unchanged` are
    generated files that are already right; `removed` are those no longer generated; `carried` are
    files of the user and of kept revisions. `folders` exist and stay, unlike those with only
    removed files.
    """

    written: Mapping[str, bytes]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    carried: tuple[str, ...]
    folders: frozenset[str]
    problems: tuple[Problem, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Return whether anything changes."""
        return bool(self.written or self.removed)


def find_changes(
    package: Package, before: Lock | None, tree: Tree, *, force: bool = False
) -> OutputChanges:
    """Return the changes from `tree` with the lock `before` to `package`.

    `force` overwrites edited files and files in the way, and removes edited files of removed
    revisions, parts, or copies of the runtime.
    """
    locked: Mapping[str, LockedFile] = before.files if before else {}
    kept_files = files_to_keep(package, locked)
    after = lock_of(package, kept_files)
    files = {file.path: file for file in (*package.files, lock_file(after))}
    locked = _corrected_files(before, after) if before else locked
    written = {p: f.content for p, f in files.items() if tree.files.get(p) != sha256(f.content)}
    unchanged = tuple(p for p in files if p not in written)
    stale = [p for p in locked if p not in files and p not in kept_files and p in tree.files]
    has_less = bool(before and _optional_content(before.inputs) - _optional_content(package.inputs))
    folders = _folders(before.inputs) if before else {}
    lost_folders = folders.keys() - _folders(package.inputs).keys()
    lost_folders |= {"translate"} if lost_folders else set()
    lost_folders |= {RUNTIME_FOLDER} if runtime_in(package.inputs) else set()
    removed = tuple(
        p
        for p in stale
        if tree.is_written(p, locked[p].sha256)
        or (force and (has_less or p.partition("/")[0] in lost_folders))
    )
    problems = [*_missing_files(kept_files, tree), *_find_obstacles(files, tree, removed)]
    problems += _line_ending_warnings(locked, written, tree)
    if not force:
        problems += _find_edits(locked, [*written, *stale], tree)
        if before is not None or package.inputs.beside_others:
            problems += _find_foreign_files(written, before, tree)
        else:
            problems += _find_other_files(set(unchanged), tree)
    return OutputChanges(
        written=written,
        unchanged=unchanged,
        removed=removed,
        carried=tuple(p for p in tree.files if p not in files and p not in removed),
        folders=tree.folders.difference(*map(parents, removed)),
        problems=tuple(problems),
    )


def files_to_keep(package: Package, locked: Mapping[str, LockedFile]) -> dict[str, LockedFile]:
    """Return the locked files of revisions and extensions that `package` lists but did not make.

    They were made from schema files that are not available now.
    """
    if "target" in package.inputs.options:  # a target keeps nothing
        return {}
    paths = {file.path for file in package.files}
    listed = _folders(package.inputs).keys()
    folders_kept = listed - {path.partition("/")[0] for path in paths}
    # They may translate to a revision that is made anew.
    tables = {f"translate/{folder}.py" for folder in listed if folders_kept} - paths
    extension_folders = set(_extension_folders(package))
    return {
        path: entry
        for path, entry in locked.items()
        if path in tables
        or path.partition("/")[0] in folders_kept
        or not extension_folders.isdisjoint((path, *parents(path)))
    }


def _extension_folders(package: Package) -> Iterator[str]:
    """Yield the folder of each extension in a revision that `package` lists but did not make.

    If no extension of a revision was made, this includes their common `__init__.py`.
    """
    generated = {folder for file in package.files for folder in parents(file.path)}
    for name, inputs in package.inputs.extensions.items():
        for revision in inputs.revisions:
            common = f"{module_name(revision)}/ext"
            folder = f"{common}/{extension_module(name)}"
            if folder not in generated:
                yield folder
            if common not in generated:
                yield f"{common}/__init__.py"


def _optional_content(inputs: GenerationInputs) -> set[tuple[str, str]]:
    parts = {("part", name) for name in inputs.parts}
    return parts | {("extension", name) for name in inputs.extensions}


def _corrected_files(before: Lock, after: Lock) -> dict[str, LockedFile]:
    """Return the files of a lock, corrected by the newly made ones where inputs are the same."""
    was, now = _folders(before.inputs), _folders(after.inputs)
    if before.inputs._replace(revisions=after.inputs.revisions) != after.inputs:
        return dict(before.files)
    same = {RUNTIME_FOLDER, *(folder for folder in was if now.get(folder) == was[folder])}
    # The runtime of a package with a single revision has no modules of translation.
    becomes_single = len(was) > 1 >= len(now)
    corrected: dict[str, LockedFile] = {}
    for path, old in before.files.items():
        folder = path.partition("/")[0]
        entry = after.files.get(path) if was == now or folder in same else old
        if entry is None and becomes_single and folder == RUNTIME_FOLDER:
            entry = old
        if entry is not None:
            corrected[path] = entry
    return corrected


def _folders(inputs: GenerationInputs) -> dict[str, RevisionInputs]:
    return {str(module_name(name)): revision for name, revision in inputs.revisions.items()}


def _missing_files(kept_files: Mapping[str, LockedFile], tree: Tree) -> Iterator[Problem]:
    for path in kept_files.keys() - tree.files.keys():
        message = "this file is missing, and the schema of its revision is not here"
        hint = "name the revision with --revision and its schema with --schema"
        yield Problem("needs-schema", message, path, hint=hint)


def _find_obstacles(
    files: Mapping[str, GeneratedFile], tree: Tree, removed: tuple[str, ...]
) -> Iterator[Problem]:
    needed = {folder for path in files for folder in parents(path)}
    hint = "move it away; --force does not exchange files and folders"
    for path in sorted(needed & tree.files.keys() - set(removed)):
        message = "a file or a link is in place of a folder that is needed here"
        yield Problem("foreign-file", message, path, hint=hint)
    for path in sorted(files.keys() & tree.folders):
        message = "a folder is in place of a file that is needed here"
        yield Problem("foreign-file", message, path, hint=hint)


def _find_edits(
    locked: Mapping[str, LockedFile], touched: list[str], tree: Tree
) -> Iterator[Problem]:
    for path in touched:
        if path not in locked or path not in tree.files:
            continue
        if tree.files[path] == NOT_A_FILE:
            message = "a link or a special file is in place of this generated file"
            hint = "move it away, or replace it with --force; the target of a link is not touched"
            yield Problem("edited-file", message, path, hint=hint)
        elif not tree.is_written(path, locked[path].sha256):
            hint = "make the change in another file, or give it up with --force"
            yield Problem("edited-file", "this generated file was edited by hand", path, hint=hint)


def _line_ending_warnings(
    locked: Mapping[str, LockedFile], written: Mapping[str, bytes], tree: Tree
) -> Iterator[Problem]:
    """Yield a warning about files that differ from the lock only in line endings."""
    paths = [
        path
        for path in written
        if path in locked
        and tree.files.get(path) != locked[path].sha256
        and tree.is_written(path, locked[path].sha256)
    ]
    if paths:
        more = f", and in {len(paths) - 1} more generated files" if paths[1:] else ""
        message = f"lines ended with CRLF here{more}; now they end with LF, as generated"
        hint = f"to prevent it, put this line into .gitattributes: {tree.attributes}"
        yield Problem("line-endings", message, paths[0], hint=hint, level=Level.WARNING)


_FOREIGN_HINT = "choose another folder, move the files away, or overwrite them with --force"


def _find_foreign_files(
    written: Mapping[str, bytes], before: Lock | None, tree: Tree
) -> Iterator[Problem]:
    locked: Mapping[str, LockedFile] = before.files if before else {}
    for path in written:
        if path in tree.files and path not in locked and path != LOCK_NAME:
            message = "a file that mcp-gen did not write has the name of a generated one"
            yield Problem("foreign-file", message, path, hint=_FOREIGN_HINT)


def _find_other_files(unchanged: set[str], tree: Tree) -> Iterator[Problem]:
    if names := sorted(tree.files.keys() - unchanged):
        listed = summarize_list(names, _MOST_NAMES)
        message = f"the folder has no lock and contains other files: {listed}"
        yield Problem("foreign-file", message, hint=_FOREIGN_HINT)
