"""Bringing a generated package in step with the installed mcp-gen, from its own lock.

The same work as `mcp-gen --out`, with nothing to be said: which revisions, from which schemas and
with which templates is in the lock and in the settings of the project. Where nothing has moved,
what is there is compared with what is generated, not with the lock alone. Prints nothing.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mcp_protogen.canonical import sha256
from mcp_protogen.cli.commands import Standing, count, standing, write
from mcp_protogen.cli.report import Action, FileChange, Report, Status
from mcp_protogen.cli.selection import PINNED, pruned
from mcp_protogen.config import Settings, load_settings
from mcp_protogen.output.drift import Cause, Kind
from mcp_protogen.output.lock import LOCK_NAME, Lock, LockedFile, read_lock
from mcp_protogen.output.package import newer
from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.store.pins import load_pins


def check(out: Path, flags: Settings) -> Report:
    """Whether `sync` would change anything, and why; the user's own files do not matter."""
    settings = _settings(out, flags)
    lock, found = _standing(settings, _with_draft(out, settings))
    if not found.causes:
        return _in_step(out, found)
    edited = {cause.subject for cause in found.causes if cause.kind is Kind.EDITED} - {LOCK_NAME}
    older = newer(lock.inputs.generator, found.inputs.generator)
    command = "mcp-gen sync --force" if edited or older else "mcp-gen sync"
    summary = f"{out}: {_versions(lock, found)}; {command} brings it in step"
    return Report("sync", Status.DIFFERS, summary, str(out), drift=found.causes)


def sync(out: Path, flags: Settings, *, force: bool = False) -> Report:
    """Generate the package in `out` anew, and say what that changed and why."""
    settings = _settings(out, flags)
    remaking = _with_draft(out, settings)
    lock, before = _standing(settings, remaking)
    if not before.causes:
        return _in_step(out, before)
    if not force:
        _refuse_other_templates(out, lock, before)
    done = write(remaking, force=force)
    changes = tuple(_changes(before, lock, out))
    written = count(sum(change.action is not Action.REMOVE for change in changes), "file")
    removed = sum(change.action is Action.REMOVE for change in changes)
    summary = f"{out}: {_versions(lock, before)}; {written} written, {removed} removed"
    return replace(done, command="sync", summary=summary, drift=before.causes, files=changes)


def _settings(out: Path, flags: Settings) -> Settings:
    """What is set for the package in `out`: flags, and settings of its project."""
    project = load_settings(out.resolve(), flags, only=("format", "out"))
    if project.out is not None and project.out.resolve() == out.resolve():
        project = load_settings(out.resolve(), flags)
    return flags.over(project).as_listed()


def _with_draft(out: Path, settings: Settings) -> Settings:
    """The same, and the schema of the one revision that is from a file, if it is at hand."""
    lock = pruned(read_lock(out), settings.only, load_pins())
    drafts = [*_drafts(lock, settings)] if lock and settings.schema is None else []
    # Options name one schema; a package of several is not made anew without being told how.
    return drafts[0] if len(drafts) == 1 else settings


def _drafts(lock: Lock, settings: Settings) -> Iterator[Settings]:
    """Settings that name the schema of a revision that is not pinned, if it is still the same."""
    pins = load_pins()
    for revision, inputs in lock.inputs.revisions.items():
        if (
            inputs.source == PINNED
            or Path(inputs.source).name != inputs.source  # a URL, or nothing that we wrote
            or (inputs.rules and not settings.rules)
        ):
            continue
        file = Path(inputs.source)
        if file.is_file() and sha256(file.read_bytes()) == inputs.published:
            others = () if revision in pins else settings.listed or ()
            yield replace(settings, revisions=(*others, revision), schema=inputs.source)


def _standing(settings: Settings, remaking: Settings) -> tuple[Lock, Standing]:
    """How the package stands, by what is made of it with `remaking` and proven with `settings`.

    A draft that was added to others, or to which others were added, need not be translated to them,
    so that it is not made anew just to compare it.
    """
    found = standing(remaking, regenerate=remaking == settings)
    lock = found.task.lock
    if lock is None:
        message = f"there is no {LOCK_NAME} in this folder"
        place = str(found.task.out)
        raise ProblemError(Problem("no-package", message, place, hint="run mcp-gen first"))
    if remaking != settings and not _own_causes(found):
        found = standing(settings, regenerate=True)
    return lock, replace(found, causes=_own_causes(found))


def _own_causes(found: Standing) -> tuple[Cause, ...]:
    return tuple(cause for cause in found.causes if cause.kind is not Kind.FOREIGN)


def _refuse_other_templates(out: Path, lock: Lock, standing: Standing) -> None:
    """The package was made with a folder of templates that nobody names now."""
    was, now = lock.inputs.options, standing.inputs.options
    if "templates" in was and "templates" not in now:
        message = "the package was generated with templates of your own, and none are given now"
        hint = 'name their folder with --templates, or set templates = "FOLDER"; or --force'
        raise ProblemError(Problem("other-templates", message, str(out), hint=hint))


def _in_step(out: Path, standing: Standing) -> Report:
    revisions = ", ".join(standing.inputs.revisions)
    summary = f"{out} is in step with {standing.inputs.generator}: {revisions}{standing.unproven}"
    return Report("sync", Status.FINE, summary, str(out))


def _versions(lock: Lock, standing: Standing) -> str:
    was, now = lock.inputs.generator, standing.inputs.generator
    versions = f"from {was} to {now}" if was != now else now
    return f"{versions}, {', '.join(standing.inputs.revisions)}"


def _changes(before: Standing, lock: Lock, out: Path) -> Iterator[FileChange]:
    """What became of each generated file, but for the lock, which changes with any of them."""
    after = read_lock(out)
    files: Mapping[str, LockedFile] = after.files if after else {}
    found = before.tree.files
    for path in sorted({*files, *lock.files}):
        if path not in files:
            if path in found and not os.path.lexists(out / path):
                yield FileChange(path, Action.REMOVE)
        elif path not in found:
            yield FileChange(path, Action.CREATE)
        elif found[path] != files[path].sha256:
            yield FileChange(path, Action.CHANGE)
