"""What each form of `mcp-gen --out` does, as a function from settings to a report.

Prints nothing. The generator, whose imports are heavy, is loaded only by what has to generate:
checking does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_protogen.cli.report import Action, FileChange, Report, Status
from mcp_protogen.cli.selection import refuse_unmakeable, revision_names, select
from mcp_protogen.config import GivenFile, Options, Settings
from mcp_protogen.output.drift import drift
from mcp_protogen.output.lock import Lock, read_lock
from mcp_protogen.output.package import Package
from mcp_protogen.output.plan import Plan
from mcp_protogen.output.tree import NOT_A_FILE, Tree, read_tree
from mcp_protogen.problems import Level, Problem, ProblemError
from mcp_protogen.store.inputs import read_inputs
from mcp_protogen.store.pins import load_pins


@dataclass(frozen=True, slots=True)
class Task:
    """One run, with everything it needs to read already read."""

    out: Path
    lock: Lock | None
    options: Options


def check(settings: Settings) -> Report:
    """Whether generating would change anything, and why."""
    task = prepare(settings)
    inputs = read_inputs(task.options)
    tree = read_tree(task.out)
    causes = drift(task.lock, inputs, tree, settings.own or ())
    if causes:
        summary = f"{task.out} is not up to date: {_count(len(causes), 'cause')}"
        return Report("check", Status.DIFFERS, summary, str(task.out), drift=causes)
    contents = f"{_count(len(inputs.revisions), 'revision')}, {_count(len(tree.files), 'file')}"
    return Report("check", Status.FINE, f"{task.out} is up to date: {contents}", str(task.out))


def write(settings: Settings, *, force: bool = False) -> Report:
    """Generate and publish."""
    from mcp_protogen.output import trial
    from mcp_protogen.output.publish import publish
    from mcp_protogen.output.workspace import exclusive

    with exclusive(_out(settings)) as space:
        task = prepare(settings)
        package = _generate(task)
        outcome = publish(package, space, force=force, require=trial.require_importable)
    summary = (
        f"{task.out}: {_count(len(outcome.written), 'file')} written ({len(outcome.created)} new),"
        f" {len(outcome.removed)} removed, {outcome.unchanged} unchanged"
    )
    problems = (*package.warnings, *outcome.warnings)
    return Report("generate", Status.FINE, summary, str(task.out), problems=problems)


def dry_run(settings: Settings, *, force: bool = False) -> Report:
    """Generate and say which files would be written and removed."""
    from mcp_protogen.output.publish import preview

    task = prepare(settings)
    package = _generate(task)
    plan, tree = preview(package, task.out, force=force)
    files = tuple(FileChange(path, action) for path, action in _actions(plan, tree))
    if any(problem.level is Level.ERROR for problem in plan.problems):
        problems = (*package.warnings, *plan.problems)
        return Report("dry-run", Status.FAILED, "", str(task.out), files=files, problems=problems)
    summary = f"{task.out}: {_count(len(files), 'file')} would change; nothing was written"
    return Report(
        "dry-run", Status.FINE, summary, str(task.out), files=files, problems=package.warnings
    )


def diff(settings: Settings) -> Report:
    """Generate and compare with what is there, line by line."""
    from mcp_protogen.output.publish import preview

    task = prepare(settings)
    package = _generate(task)
    plan, tree = preview(package, task.out, force=True)
    files = tuple(
        FileChange(
            path, action, _unified(path, _found(task.out, path, tree), plan.written.get(path))
        )
        for path, action in _actions(plan, tree)
    )
    status = Status.DIFFERS if files else Status.FINE
    summary = f"{task.out}: {_count(len(files), 'file')} would change"
    return Report("diff", status, summary, str(task.out), files=files, problems=package.warnings)


def prepare(settings: Settings) -> Task:
    """Read the lock and the schema that was named, and settle on revisions."""
    out = _out(settings)
    lock = read_lock(out)
    pins = load_pins()
    asked = revision_names(settings.revisions or (), pins)
    if settings.rules is not None and settings.schema is None:
        hint = "rules of pinned revisions are built in; name the schema with --schema"
        message = "rules belong to a schema of your own"
        raise ProblemError(Problem("conflicting-options", message, settings.rules, hint=hint))
    schema, rules = _given(settings.schema), _given(settings.rules)
    options = select(asked, pins, lock, schema, _templates(settings))
    if rules is not None:
        options = replace(options, rules=dict.fromkeys(options.schemas, rules))
    return Task(out, lock, options)


def _out(settings: Settings) -> Path:
    if settings.out is None:
        hint = 'pass --out FOLDER, or set out = "FOLDER" in [tool.mcp-gen] of pyproject.toml'
        raise ProblemError(Problem("no-output", "no output folder is named", hint=hint))
    return settings.out


def _templates(settings: Settings) -> Path | None:
    if settings.templates is None or settings.templates.is_dir():
        return settings.templates
    message = "there is no folder of templates here"
    raise ProblemError(Problem("missing-templates", message, str(settings.templates)))


def _given(source: str | None) -> GivenFile | None:
    if source is None:
        return None
    from mcp_protogen.store.upstream import read_source, source_name

    return GivenFile(source_name(source), read_source(source))


def _generate(task: Task) -> Package:
    if task.lock:
        refuse_unmakeable(task.options, task.lock, read_inputs(task.options))
    from mcp_protogen.generate import generate

    return generate(task.options)


def _actions(plan: Plan, tree: Tree) -> Iterator[tuple[str, Action]]:
    for path in sorted({*plan.written, *plan.removed}):
        if path in plan.removed:
            yield path, Action.REMOVE
        else:
            yield path, Action.CHANGE if path in tree.files else Action.CREATE


def _found(out: Path, path: str, tree: Tree) -> bytes | None:
    # What a link leads to is not in the folder, and a named pipe may never end.
    if tree.files.get(path) == NOT_A_FILE:
        return NOT_A_FILE.encode()
    return (out / path).read_bytes() if path in tree.files else None


def _unified(path: str, old: bytes | None, new: bytes | None) -> str:
    from difflib import unified_diff

    names = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    before, after = ((text or b"").decode(errors="replace").splitlines() for text in (old, new))
    return "\n".join(unified_diff(before, after, *names, lineterm=""))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
