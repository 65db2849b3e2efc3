"""The modes of `mcp-gen generate`, as functions from settings to a report.

The generator is slow to import, so only modes that generate import it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcp_protogen.base.printable import pluralize
from mcp_protogen.base.problems import Level
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.output.drift import OF_FILES, Cause, drift, find_unlisted
from mcp_protogen.pipeline.output.lock import LOCK_NAME, lock_of
from mcp_protogen.pipeline.output.tree import NOT_A_FILE, Tree, read_tree
from mcp_protogen.pipeline.package import GenerationInputs, Package
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus
from mcp_protogen.pipeline.selection import (
    PackageRun,
    output_folder,
    prepare,
    refuse_downgrade,
    refuse_missing_schemas,
)
from mcp_protogen.pipeline.settings import Settings

if TYPE_CHECKING:
    from mcp_protogen.pipeline.output.changes import OutputChanges


class PackageState(NamedTuple):
    """The state of a package: the files in its folder, its current inputs, and causes of drift."""

    run: PackageRun
    tree: Tree
    inputs: GenerationInputs
    causes: tuple[Cause, ...]

    @property
    def unproven_note(self) -> str:
        """A note for summaries: the revisions that were compared only with the lock."""
        options = self.run.options
        names = ", ".join((*options.kept, *options.kept_extensions))
        return f"; compared with the lock alone: {names}, from your own schema" if names else ""


def perform(
    mode: str, settings: Settings, *, force: bool = False, cached: bool = True
) -> RunReport:
    """Run a mode: "generate", "check", "regenerate", "diff" or "dry-run"."""
    if mode in ("check", "regenerate"):
        return check(settings, regenerate=mode == "regenerate")
    if mode == "diff":
        return diff(settings)
    if mode == "dry-run":
        return dry_run(settings, force=force)
    return write(settings, force=force, cached=cached)


def check(settings: Settings, *, regenerate: bool = False) -> RunReport:
    """Report whether the package is up to date, and if not, why."""
    state = package_state(settings.as_listed(), regenerate=regenerate)
    out = state.run.out
    if state.causes:
        summary = f"{out} is not up to date: {pluralize(len(state.causes), 'cause')}"
        return RunReport("check", RunStatus.DIFFERS, summary, str(out), drift=state.causes)
    # Other files in the folder belong to the user.
    paths = state.run.lock.files.keys() | {LOCK_NAME} if state.run.lock else set[str]()
    revisions, files = len(state.inputs.revisions), len(paths & state.tree.files.keys())
    how = (
        f"generated anew and compared{state.unproven_note}"
        if regenerate
        else "compared with the lock"
    )
    counts = f"{pluralize(revisions, 'revision')}, {pluralize(files, 'file')}"
    summary = f"{out} is up to date: {counts}, {how}"
    return RunReport("check", RunStatus.FINE, summary, str(out))


def package_state(settings: Settings, *, regenerate: bool = False) -> PackageState:
    """Return the state of a package, compared with its lock.

    `regenerate` also compares it with a newly generated package, if possible.
    """
    run = prepare(settings)
    inputs = read_inputs(run.options)
    tree = read_tree(run.out)
    patterns = settings.own or ()
    causes = drift(run.pruned_lock, inputs, tree, patterns)
    if run.pruned_lock != run.lock:
        causes = (*find_unlisted(run.lock, inputs.revisions), *causes)
    if regenerate and run.lock and OF_FILES.issuperset(cause.kind for cause in causes):
        from mcp_protogen.pipeline.output.changes import files_to_keep

        package = _generate(run)
        new_lock = lock_of(package, files_to_keep(package, run.lock.files))
        causes = drift(run.lock, inputs, tree, patterns, new_lock.files)
    return PackageState(run, tree, inputs, causes)


def write(settings: Settings, *, force: bool = False, cached: bool = True) -> RunReport:
    """Generate a package, or take it from the user's cache if `cached`, and publish it."""
    from mcp_protogen.pipeline.output.publish import publish
    from mcp_protogen.pipeline.output.workspace import exclusive
    from mcp_protogen.pipeline.package_cache import make_package

    with exclusive(output_folder(settings)) as space:
        run = prepare(settings)
        _refuse(run, force=force)
        package = make_package(run.options, cached=cached)
        result = publish(package, space, force=force)
    summary = (
        f"{run.out}: {pluralize(len(result.written), 'file')} written"
        f" ({len(result.created)} new), {len(result.removed)} removed,"
        f" {result.unchanged} unchanged"
    )
    problems = (*package.warnings, *result.warnings)
    return RunReport("generate", RunStatus.FINE, summary, str(run.out), problems=problems)


def dry_run(settings: Settings, *, force: bool = False) -> RunReport:
    """Generate a package, and report the files that would be written or removed."""
    from mcp_protogen.pipeline.output.publish import preview

    run = prepare(settings)
    package = _generate(run, force=force)
    changes, tree = preview(package, run.out, force=force)
    files = tuple(FileChange(path, action) for path, action in _actions(changes, tree))
    problems = (*package.warnings, *changes.problems)
    if any(problem.level is Level.ERROR for problem in changes.problems):
        return RunReport(
            "dry-run", RunStatus.FAILED, "", str(run.out), files=files, problems=problems
        )
    summary = f"{run.out}: {pluralize(len(files), 'file')} would change; nothing was written"
    return RunReport(
        "dry-run", RunStatus.FINE, summary, str(run.out), files=files, problems=problems
    )


def diff(settings: Settings) -> RunReport:
    """Generate a package, and compare it with the existing files line by line."""
    from mcp_protogen.pipeline.output.publish import preview

    run = prepare(settings)
    package = _generate(run, force=True)
    changes, tree = preview(package, run.out, force=True)
    files = tuple(
        FileChange(
            path,
            action,
            _diff_text(path, _read_file(run.out, path, tree), changes.written.get(path)),
        )
        for path, action in _actions(changes, tree)
    )
    status = RunStatus.DIFFERS if files else RunStatus.FINE
    summary = f"{run.out}: {pluralize(len(files), 'file')} would change"
    return RunReport("diff", status, summary, str(run.out), files=files, problems=package.warnings)


def _refuse(run: PackageRun, *, force: bool) -> None:
    """Raise `ProblemError` if this version or these revisions cannot replace the package."""
    if run.pruned_lock:
        inputs = read_inputs(run.options)
        if not force:
            refuse_downgrade(run.pruned_lock, inputs, str(run.out / LOCK_NAME))
        refuse_missing_schemas(run.options, run.pruned_lock, inputs)


def _generate(run: PackageRun, *, force: bool = False) -> Package:
    _refuse(run, force=force)
    from mcp_protogen.pipeline.generate import generate

    return generate(run.options)


def _actions(changes: "OutputChanges", tree: Tree) -> Iterator[tuple[str, Action]]:
    for path in sorted({*changes.written, *changes.removed}):
        if path in changes.removed:
            yield path, Action.REMOVE
        else:
            yield path, Action.CHANGE if path in tree.files else Action.CREATE


def _read_file(out: Path, path: str, tree: Tree) -> bytes | None:
    # The file behind a link is not in the folder, and a named pipe may never end.
    if tree.files.get(path) == NOT_A_FILE:
        return NOT_A_FILE.encode()
    return (out / path).read_bytes() if path in tree.files else None


def _diff_text(path: str, old: bytes | None, new: bytes | None) -> str:
    from difflib import unified_diff

    names = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    before, after = ((text or b"").decode(errors="replace").splitlines() for text in (old, new))
    return "\n".join(unified_diff(before, after, *names, lineterm=""))
