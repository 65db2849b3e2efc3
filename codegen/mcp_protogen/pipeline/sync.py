"""Regeneration of a package with the installed mcp-gen, by its lock.

It does the same as `mcp-gen --out` without arguments: the lock and the settings of the project
choose revisions, schemas and templates. If nothing has changed, the files are also compared with
newly generated ones.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.commands import PackageState, package_state, write
from mcp_protogen.pipeline.inputs.named_extensions import parse_extension_names
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.output.drift import Cause, DriftKind
from mcp_protogen.pipeline.output.lock import (
    LOCK_NAME,
    Lock,
    LockedFile,
    folders_with_locks,
    read_lock,
)
from mcp_protogen.pipeline.package import PINNED, newer
from mcp_protogen.pipeline.parts import ALL
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus
from mcp_protogen.pipeline.selection import prune_lock
from mcp_protogen.pipeline.settings import Settings, load_settings


def check(out: Path, flags: Settings, start: Path) -> RunReport:
    """Report whether `sync` would change anything, and why; the user's own files do not count."""
    settings = _settings(out, flags, start)
    lock, state = _compare(settings, _with_draft(out, settings))
    if not state.causes:
        return _in_step(out, state)
    edited = {cause.subject for cause in state.causes if cause.kind is DriftKind.EDITED} - {
        LOCK_NAME
    }
    older = newer(lock.inputs.generator, state.inputs.generator)
    command = "mcp-gen sync --force" if edited or older else "mcp-gen sync"
    summary = f"{out}: {_versions(lock, state)}; {command} brings it in step"
    return RunReport("sync", RunStatus.DIFFERS, summary, str(out), drift=state.causes)


def sync(
    out: Path, flags: Settings, start: Path, *, force: bool = False, cached: bool = True
) -> RunReport:
    """Generate the package in `out` anew, and report the changes and their causes.

    `start` is the folder that the user named; its settings apply if `flags` name the package.
    """
    settings = _settings(out, flags, start)
    remaking = _with_draft(out, settings)
    lock, before = _compare(settings, remaking)
    if not before.causes:
        return _in_step(out, before)
    if not force:
        _refuse_unnamed(out, lock, before)
    outcome = write(remaking, force=force, cached=cached)
    changes = tuple(_changes(before, lock, out))
    count = pluralize(sum(change.action is not Action.REMOVE for change in changes), "file")
    removed = sum(change.action is Action.REMOVE for change in changes)
    summary = f"{out}: {_versions(lock, before)}; {count} written, {removed} removed"
    return outcome._replace(command="sync", summary=summary, drift=before.causes, files=changes)


def _settings(out: Path, flags: Settings, start: Path) -> Settings:
    """Return the settings of the package in `out`: flags over settings of its project.

    The project is the nearest one that names this package.
    """
    has_folder, flags = flags.out is not None, flags._replace(out=out)
    for place in [start] if has_folder else [out, start, Path.cwd()]:
        folder = load_settings(place.resolve(), flags, only=("out",)).out
        if has_folder or (folder is not None and folder.resolve() == out.resolve()):
            return flags.merge_over(load_settings(place.resolve(), flags)).as_listed()
    return flags.merge_over(load_settings(out.resolve(), flags, only=("format",))).as_listed()


def _with_draft(out: Path, settings: Settings) -> Settings:
    """Return the settings with the schema files of extensions and of one draft, if they exist."""
    lock = prune_lock(read_lock(out), settings.only, load_pins())
    if lock:
        settings = _with_extension_files(lock, settings)
    drafts = [*_drafts(lock, settings)] if lock and settings.schema is None else []
    # The settings have one schema; several drafts need explicit options.
    return drafts[0] if len(drafts) == 1 else settings


def _drafts(lock: Lock, settings: Settings) -> Iterator[Settings]:
    """Yield settings for each revision from a file that exists unchanged."""
    pins = load_pins()
    for revision, inputs in lock.inputs.revisions.items():
        if inputs.rules and not settings.rules:  # the translation rules are not available
            continue
        if _is_here(inputs.source, inputs.published):
            others = () if revision in pins else settings.listed.get("revisions", ())
            yield settings._replace(revisions=(*others, revision), schema=inputs.source)


def _with_extension_files(lock: Lock, settings: Settings) -> Settings:
    sources = parse_extension_names(settings.extensions or ())
    locked_sources = {
        name: made.source
        for name, made in lock.inputs.extensions.items()
        if sources.get(name) is None
        and (name in sources or ALL in sources or not settings.has_only("extensions"))
        and _is_here(made.source, made.published)
    }
    if not locked_sources:
        return settings
    all_sources = {**sources, **locked_sources}
    texts = (name if source is None else f"{name}={source}" for name, source in all_sources.items())
    return settings._replace(extensions=tuple(texts))


def _is_here(source: str, published: str) -> bool:
    """Return whether a source file exists unchanged."""
    if source == PINNED or Path(source).name != source:  # a URL, or not written by us
        return False
    file = Path(source)
    return file.is_file() and sha256(file.read_bytes()) == published


def _compare(settings: Settings, remaking: Settings) -> tuple[Lock, PackageState]:
    """Return the lock and the state of the package.

    `remaking` are the settings to generate it, `settings` those to verify it. A draft beside other
    revisions may lack translations, so it is not generated anew for the comparison.
    """
    found = package_state(remaking, regenerate=remaking == settings)
    lock = found.run.lock
    if lock is None:
        message = f"there is no {LOCK_NAME} in this folder"
        place = str(found.run.out)
        raise ProblemError(Problem("no-package", message, place, hint="run mcp-gen first"))
    if remaking != settings and not _own_causes(found):
        found = package_state(settings, regenerate=True)
    return lock, found._replace(causes=_own_causes(found))


def _own_causes(state: PackageState) -> tuple[Cause, ...]:
    return tuple(cause for cause in state.causes if cause.kind is not DriftKind.FOREIGN)


_UNNAMED = {
    "names": Problem(
        "other-names",
        "the package was generated with your own names, and none are given now",
        hint='set names = "FILE" in [tool.mcp-gen] of pyproject.toml; or use --force',
    ),
    "patches": Problem(
        "other-patches",
        "the package was generated with your own patches, and none are given now",
        hint="set patches in [tool.mcp-gen] of pyproject.toml; or use --force",
    ),
    "templates": Problem(
        "other-templates",
        "the package was generated with your own templates, and none are given now",
        hint='name their folder with --templates, or set templates = "FOLDER"; or use --force',
    ),
}
"""The problem for each option of the package that is missing now."""


def _refuse_unnamed(out: Path, lock: Lock, state: PackageState) -> None:
    """Raise `ProblemError` for options of the package that are missing now."""
    was, now = lock.inputs.options, state.inputs.options
    raise_errors(
        problem._replace(place=str(out))
        for option, problem in _UNNAMED.items()
        if option in was and option not in now
    )


def _in_step(out: Path, state: PackageState) -> RunReport:
    revisions = ", ".join(state.inputs.revisions)
    summary = f"{out} is in step with {state.inputs.generator}: {revisions}{state.unproven_note}"
    return RunReport("sync", RunStatus.FINE, summary, str(out))


def _versions(lock: Lock, state: PackageState) -> str:
    was, now = lock.inputs.generator, state.inputs.generator
    versions = f"from {was} to {now}" if was != now else now
    return f"{versions}, {', '.join(state.inputs.revisions)}"


def _changes(before: PackageState, lock: Lock, out: Path) -> Iterator[FileChange]:
    """Yield the change of each generated file except the lock."""
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


_NAMED = 10


def locate(start: Path) -> Path:
    """Return `start` if it is a generated package, or the package in it.

    Raise `ProblemError`: `no-package`, `several-packages`, or `bad-config` for unusable settings.
    """
    if not start.is_dir():
        message = "this is not a folder" if start.exists() else "this folder does not exist"
        hint = "name a project, or the folder of a generated package"
        raise ProblemError(Problem("no-package", message, str(start), hint=hint))
    if os.path.lexists(start / LOCK_NAME):
        return start
    folder = load_settings(start.resolve(), only=("out",)).out
    if folder is not None:
        if not os.path.lexists(folder / LOCK_NAME):
            message = "[tool.mcp-gen] names this folder, but it has no generated package"
            hint = "run mcp-gen to generate it; or, if it was moved, correct out in pyproject.toml"
            raise ProblemError(Problem("no-package", message, str(folder), hint=hint))
        return folder
    return _only(start, [*folders_with_locks(start)])


def _only(start: Path, found: Sequence[Path]) -> Path:
    if not found:
        message = f"no generated package was found: no setting out, and no {LOCK_NAME} below"
        hint = 'name its folder, or set out = "FOLDER" in [tool.mcp-gen] of pyproject.toml'
        raise ProblemError(Problem("no-package", message, str(start), hint=hint))
    if len(found) > 1:
        message = f"the folder has several packages: {summarize_list(found, _NAMED)}"
        hint = "name one of them"
        raise ProblemError(Problem("several-packages", message, str(start), hint=hint))
    return found[0]
