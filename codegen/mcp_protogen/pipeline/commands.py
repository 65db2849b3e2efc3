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
    PackageTask,
    output_folder,
    prepare,
    refuse_downgrade,
    refuse_missing_schemas,
)
from mcp_protogen.pipeline.settings import Settings

if TYPE_CHECKING:
    from mcp_protogen.pipeline.output.plan import Plan


class PackageState(NamedTuple):
    """The state of a package: the files in its folder, its current inputs, and causes of drift."""

    task: PackageTask
    tree: Tree
    inputs: GenerationInputs
    causes: tuple[Cause, ...]

    @property
    def unproven_note(self) -> str:
        """A note for summaries: the revisions that were compared only with the lock."""
        options = self.task.options
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
    out = state.task.out
    if state.causes:
        summary = f"{out} is not up to date: {pluralize(len(state.causes), 'cause')}"
        return RunReport("check", RunStatus.DIFFERS, summary, str(out), drift=state.causes)
    # Other files in the folder belong to the user.
    ours = state.task.lock.files.keys() | {LOCK_NAME} if state.task.lock else set[str]()
    revisions, files = len(state.inputs.revisions), len(ours & state.tree.files.keys())
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
    task = prepare(settings)
    inputs = read_inputs(task.options)
    tree = read_tree(task.out)
    own = settings.own or ()
    causes = drift(task.pruned_lock, inputs, tree, own)
    if task.pruned_lock != task.lock:
        causes = (*find_unlisted(task.lock, inputs.revisions), *causes)
    if regenerate and task.lock and OF_FILES.issuperset(cause.kind for cause in causes):
        from mcp_protogen.pipeline.output.plan import files_to_keep

        package = _generate(task)
        new_lock = lock_of(package, files_to_keep(package, task.lock.files))
        causes = drift(task.lock, inputs, tree, own, new_lock.files)
    return PackageState(task, tree, inputs, causes)


def write(settings: Settings, *, force: bool = False, cached: bool = True) -> RunReport:
    """Generate a package, or take it from the user's cache if `cached`, and publish it."""
    from mcp_protogen.pipeline.output.publish import publish
    from mcp_protogen.pipeline.output.workspace import exclusive
    from mcp_protogen.pipeline.package_cache import make_package

    with exclusive(output_folder(settings)) as space:
        task = prepare(settings)
        _refuse(task, force=force)
        package = make_package(task.options, cached=cached)
        outcome = publish(package, space, force=force)
    summary = (
        f"{task.out}: {pluralize(len(outcome.written), 'file')} written"
        f" ({len(outcome.created)} new), {len(outcome.removed)} removed,"
        f" {outcome.unchanged} unchanged"
    )
    problems = (*package.warnings, *outcome.warnings)
    return RunReport("generate", RunStatus.FINE, summary, str(task.out), problems=problems)


def dry_run(settings: Settings, *, force: bool = False) -> RunReport:
    """Generate a package, and report the files that would be written or removed."""
    from mcp_protogen.pipeline.output.publish import preview

    task = prepare(settings)
    package = _generate(task, force=force)
    plan, tree = preview(package, task.out, force=force)
    files = tuple(FileChange(path, action) for path, action in _actions(plan, tree))
    problems = (*package.warnings, *plan.problems)
    if any(problem.level is Level.ERROR for problem in plan.problems):
        return RunReport(
            "dry-run", RunStatus.FAILED, "", str(task.out), files=files, problems=problems
        )
    summary = f"{task.out}: {pluralize(len(files), 'file')} would change; nothing was written"
    return RunReport(
        "dry-run", RunStatus.FINE, summary, str(task.out), files=files, problems=problems
    )


def diff(settings: Settings) -> RunReport:
    """Generate a package, and compare it with the existing files line by line."""
    from mcp_protogen.pipeline.output.publish import preview

    task = prepare(settings)
    package = _generate(task, force=True)
    plan, tree = preview(package, task.out, force=True)
    files = tuple(
        FileChange(
            path, action, _diff_text(path, _read_file(task.out, path, tree), plan.written.get(path))
        )
        for path, action in _actions(plan, tree)
    )
    status = RunStatus.DIFFERS if files else RunStatus.FINE
    summary = f"{task.out}: {pluralize(len(files), 'file')} would change"
    return RunReport("diff", status, summary, str(task.out), files=files, problems=package.warnings)


def _refuse(task: PackageTask, *, force: bool) -> None:
    """Raise `ProblemError` if this version or these revisions cannot replace the package."""
    if task.pruned_lock:
        inputs = read_inputs(task.options)
        if not force:
            refuse_downgrade(task.pruned_lock, inputs, str(task.out / LOCK_NAME))
        refuse_missing_schemas(task.options, task.pruned_lock, inputs)


def _generate(task: PackageTask, *, force: bool = False) -> Package:
    _refuse(task, force=force)
    from mcp_protogen.pipeline.generate import generate

    return generate(task.options)


def _actions(plan: "Plan", tree: Tree) -> Iterator[tuple[str, Action]]:
    for path in sorted({*plan.written, *plan.removed}):
        if path in plan.removed:
            yield path, Action.REMOVE
        else:
            yield path, Action.CHANGE if path in tree.files else Action.CREATE


def _read_file(out: Path, path: str, tree: Tree) -> bytes | None:
    # The target of a link is not in the folder, and a named pipe may never end.
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
