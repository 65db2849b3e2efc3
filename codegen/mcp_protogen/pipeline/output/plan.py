"""The effects of publishing a package into a folder, and the obstacles.

There are three kinds of files. Generated ones are in the folder's lock with the digest they were
written with. Kept ones belong to a revision that this run does not generate. All others belong to
the user and are carried along untouched. A lock is checked as far as possible: a file with the same
inputs as before has to be the same. This module decides and touches nothing.
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

_NAMED = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of one publication; all paths are relative to the folder.

    `written` maps each new or different path to its bytes, including the lock; `unchanged` are
    generated files that are already right; `removed` are those no longer generated; `carried` are
    files of the user and of kept revisions. `folders` are there and stay: those that only had
    removed files are left out.
    """

    written: Mapping[str, bytes]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    carried: tuple[str, ...]
    folders: frozenset[str]
    problems: tuple[Problem, ...] = ()

    @property
    def changes(self) -> bool:
        """Return whether there is anything to do."""
        return bool(self.written or self.removed)


def plan(package: Package, before: Lock | None, tree: Tree, *, force: bool = False) -> Plan:
    """Return the steps from `tree`, whose lock is `before`, to `package`.

    With `force`, edited files and files in the way are overwritten and not reported, and edited
    files of removed revisions and parts, or of a copy of the runtime, are removed.
    """
    locked: Mapping[str, LockedFile] = before.files if before else {}
    kept = files_to_keep(package, locked)
    after = lock_of(package, kept)
    files = {file.path: file for file in (*package.files, lock_file(after))}
    locked = _corrected_files(before, after) if before else locked
    written = {p: f.content for p, f in files.items() if tree.files.get(p) != sha256(f.content)}
    unchanged = tuple(p for p in files if p not in written)
    stale = [p for p in locked if p not in files and p not in kept and p in tree.files]
    fewer = bool(before and _optional(before.inputs) - _optional(package.inputs))
    out = _folders(before.inputs).keys() - _folders(package.inputs).keys() if before else set[str]()
    out |= {RUNTIME_FOLDER} if runtime_in(package.inputs) else set()
    removed = tuple(
        p
        for p in stale
        if tree.is_written(p, locked[p].sha256) or (force and (fewer or _belongs_to(p) & out))
    )
    problems = [*_missing_files(kept, tree), *_find_obstacles(files, tree, removed)]
    problems += _line_ending_warnings(locked, written, tree)
    if not force:
        problems += _find_edits(locked, [*written, *stale], tree)
        beside = before is not None or package.inputs.beside_others
        problems += (
            _foreign(written, before, tree) if beside else _find_other_files(set(unchanged), tree)
        )
    return Plan(
        written=written,
        unchanged=unchanged,
        removed=removed,
        carried=tuple(p for p in tree.files if p not in files and p not in removed),
        folders=tree.folders.difference(*map(parents, removed)),
        problems=tuple(problems),
    )


def files_to_keep(package: Package, locked: Mapping[str, LockedFile]) -> dict[str, LockedFile]:
    """Return the locked files of what `package` lists but did not make.

    These are revisions and extensions that were made from files which are not at hand.
    """
    if "target" in package.inputs.options:  # which keeps nothing
        return {}
    made = {file.path.partition("/")[0] for file in package.files}
    there = _folders(package.inputs).keys()
    kept = there - made
    extending = {*_extension_folders(package)}
    return {
        path: entry
        for path, entry in locked.items()
        if ((belongs := _belongs_to(path)) & kept and belongs <= there)
        or not extending.isdisjoint((path, *parents(path)))
    }


def _extension_folders(package: Package) -> Iterator[str]:
    """Yield the place of each extension in a revision that `package` lists but did not make.

    What all extensions of a revision share is one, too, where none of them was made.
    """
    made = {folder for file in package.files for folder in parents(file.path)}
    for name, inputs in package.inputs.extensions.items():
        for revision in inputs.revisions:
            every = f"{module_name(revision)}/ext"
            folder = f"{every}/{extension_module(name)}"
            if folder not in made:
                yield folder
            if every not in made:
                yield f"{every}/__init__.py"


def _optional(inputs: GenerationInputs) -> set[tuple[str, str]]:
    parts = {("part", name) for name in inputs.parts}
    return parts | {("extension", name) for name in inputs.extensions}


def _corrected_files(before: Lock, after: Lock) -> dict[str, LockedFile]:
    """Return the files of a lock, corrected where their inputs are the same as before.

    There, the files have to be those that are made now, and no others are generated.
    """
    was, now = _folders(before.inputs), _folders(after.inputs)
    if before.inputs._replace(revisions=after.inputs.revisions) != after.inputs:
        return dict(before.files)
    same = {RUNTIME_FOLDER, *(folder for folder in was if now.get(folder) == was[folder])}
    # What translates goes with the last but one revision.
    fewer = len(was) > 1 >= len(now)
    found: dict[str, LockedFile] = {}
    for path, said in before.files.items():
        folder = path.partition("/")[0]
        entry = after.files.get(path) if was == now or folder in same else said
        if entry is None and fewer and folder == RUNTIME_FOLDER:
            entry = said
        if entry is not None:
            found[path] = entry
    return found


def _folders(inputs: GenerationInputs) -> dict[str, RevisionInputs]:
    return {str(module_name(name)): revision for name, revision in inputs.revisions.items()}


def _belongs_to(path: str) -> set[str]:
    """Return the folder of a file's revision; two for a translation between revisions."""
    folder, _, rest = path.partition("/")
    pair = rest.removesuffix(".py").split("__")
    return set(pair) if folder == "translate" and len(pair) == 2 else {folder}


def _missing_files(kept: Mapping[str, LockedFile], tree: Tree) -> Iterator[Problem]:
    for path in kept.keys() - tree.files.keys():
        message = "this file is missing, and the schema of its revision is not here"
        hint = "name the revision with --revision and its schema with --schema"
        yield Problem("needs-schema", message, path, hint=hint)


def _find_obstacles(
    files: Mapping[str, GeneratedFile], tree: Tree, removed: tuple[str, ...]
) -> Iterator[Problem]:
    needed = {folder for path in files for folder in parents(path)}
    hint = "move it away; --force does not replace a folder by a file or a file by a folder"
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
    """Yield a warning about files that differ from the written ones only in line endings."""
    found = [
        path
        for path in written
        if path in locked
        and tree.files.get(path) != locked[path].sha256
        and tree.is_written(path, locked[path].sha256)
    ]
    if found:
        more = f", and in {len(found) - 1} more generated files" if found[1:] else ""
        message = f"lines ended with CRLF here{more}; now they end with LF, as generated"
        hint = f"to prevent it, put this line into .gitattributes: {tree.attributes}"
        yield Problem("line-endings", message, found[0], hint=hint, level=Level.WARNING)


_ELSEWHERE = "choose another folder, move the files away, or overwrite them with --force"


def _foreign(written: Mapping[str, bytes], before: Lock | None, tree: Tree) -> Iterator[Problem]:
    locked: Mapping[str, LockedFile] = before.files if before else {}
    for path in written:
        if path in tree.files and path not in locked and path != LOCK_NAME:
            message = "a file that mcp-gen did not write has the name of a generated one"
            yield Problem("foreign-file", message, path, hint=_ELSEWHERE)


def _find_other_files(unchanged: set[str], tree: Tree) -> Iterator[Problem]:
    if names := sorted(tree.files.keys() - unchanged):
        message = f"the folder has no lock and holds other files: {summarize_list(names, _NAMED)}"
        yield Problem("foreign-file", message, hint=_ELSEWHERE)
