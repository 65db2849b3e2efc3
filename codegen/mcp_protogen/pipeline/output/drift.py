"""The reasons why a generated package is not up to date.

The lock is compared with the current inputs and the files on the disk, by digest. Nothing is
generated, so the effect of a cause is unknown. Only newly generated files can show that a lock was
edited.
"""

from collections.abc import Container, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeVar

from mcp_protogen.pipeline.output.lock import LOCK_NAME, Lock, LockedFile
from mcp_protogen.pipeline.output.tree import NOT_A_FILE, Tree, parents
from mcp_protogen.pipeline.package import (
    ExtensionInputs,
    GenerationInputs,
    RevisionInputs,
    newer,
    runtime_in,
)

_SHORT = 12
_Inputs = TypeVar("_Inputs", RevisionInputs, ExtensionInputs)


class DriftKind(StrEnum):
    """The causes of drift."""

    NOT_GENERATED = "not-generated"
    EDITED = "edited"
    MISSING = "missing"
    FOREIGN = "foreign"
    LINE_ENDINGS = "line-endings"
    SCHEMA = "schema-moved"
    FACTS = "facts-moved"
    PATCHES = "patches-moved"
    DESCRIPTIONS = "descriptions-moved"
    RULES = "rules-moved"
    TEMPLATES = "templates-moved"
    GENERATOR = "generator-moved"
    RUNTIME = "runtime-moved"
    OPTIONS = "options-changed"
    ADDED = "revision-added"
    REMOVED = "revision-removed"
    UNLISTED = "revision-unlisted"
    EXTENSION_ADDED = "extension-added"
    EXTENSION_REMOVED = "extension-removed"


OF_FILES = frozenset(
    {DriftKind.EDITED, DriftKind.MISSING, DriftKind.FOREIGN, DriftKind.LINE_ENDINGS}
)
"""The causes about files in the folder; all others are about inputs."""


class Cause(NamedTuple):
    """One reason; `subject` is a file, revision or option, `was` and `now` are short digests."""

    kind: DriftKind
    subject: str
    message: str
    was: str = ""
    now: str = ""


def drift(
    lock: Lock | None,
    inputs: GenerationInputs,
    tree: Tree,
    patterns: tuple[str, ...] = (),
    lock_files: Mapping[str, LockedFile] | None = None,
) -> tuple[Cause, ...]:
    """Return all causes, inputs before files; empty if the package is up to date.

    `patterns` are those of the user's files. `lock_files` are newly generated files from `inputs`,
    in place of those in the lock.
    """
    if lock is None:
        message = "the folder has no lock: nothing was generated here"
        return (Cause(DriftKind.NOT_GENERATED, LOCK_NAME, message),)
    files = lock.files if lock_files is None else lock_files
    return (
        *_revisions(lock.inputs.revisions, inputs.revisions),
        *_extensions(lock.inputs.extensions, inputs.extensions),
        *_tool(lock.inputs, inputs),
        *_lock(lock, files),
        *_files(files, tree),
        *(() if inputs.beside_others else _foreign(files, tree, patterns)),
    )


def find_unlisted(lock: Lock | None, only: Container[str]) -> Iterator[Cause]:
    """Yield a cause for each revision of a package that is not in `only`."""
    for revision in lock.inputs.revisions if lock else ():
        if revision not in only:
            message = "the package has this revision, but it is not requested"
            remedy = "name it with the others, or remove it with --prune or mcp-gen sync"
            yield Cause(DriftKind.UNLISTED, revision, f"{message}: {remedy}")


def _revisions(
    before: Mapping[str, RevisionInputs], now: Mapping[str, RevisionInputs]
) -> Iterator[Cause]:
    for revision in sorted(now.keys() - before.keys()):
        yield Cause(DriftKind.ADDED, revision, "this revision is requested, but not in the package")
    for revision in sorted(before.keys() - now.keys()):
        yield Cause(DriftKind.REMOVED, revision, "this revision is in the package, but not pinned")
    for revision in sorted(before.keys() & now.keys()):
        yield from _moves(revision, before[revision], now[revision], _OF_REVISIONS)


def _extensions(
    before: Mapping[str, ExtensionInputs], now: Mapping[str, ExtensionInputs]
) -> Iterator[Cause]:
    for name in sorted(now.keys() - before.keys()):
        message = "this extension is requested, but not in the package"
        yield Cause(DriftKind.EXTENSION_ADDED, name, message)
    for name in sorted(before.keys() - now.keys()):
        why = "it is not requested, not pinned, or extends none of the revisions that stay"
        remedy = "name it with the others, or remove it with --prune or mcp-gen sync"
        message = f"this extension is in the package, but {why}: {remedy}"
        yield Cause(DriftKind.EXTENSION_REMOVED, name, message)
    for name in sorted(before.keys() & now.keys()):
        yield from _moves(name, before[name], now[name], _OF_EXTENSIONS)


def _moves(
    subject: str, was: _Inputs, now: _Inputs, changes: tuple[tuple[DriftKind, str, str], ...]
) -> Iterator[Cause]:
    before, after = (was.source, was.published, was.schema), (now.source, now.published, now.schema)
    if before != after:
        structure = "" if was.schema != now.schema else ", but not in its structure"
        place = f" ({was.source} → {now.source})" if was.source != now.source else ""
        message = f"its published schema changed{structure}{place}"
        yield _digest_cause(DriftKind.SCHEMA, subject, message, was.published, now.published)
    for kind, name, message in changes:
        earlier, later = getattr(was, name), getattr(now, name)
        if earlier != later:
            yield _digest_cause(kind, subject, message, earlier, later)


_OF_EXTENSIONS = (
    (DriftKind.FACTS, "facts", "its facts changed"),
    (DriftKind.PATCHES, "patches", "its patches changed"),
)
_OF_REVISIONS = (
    *_OF_EXTENSIONS,
    (DriftKind.DESCRIPTIONS, "descriptions", "its descriptions changed"),
    (DriftKind.RULES, "rules", "its translation rules from the revision before changed"),
)


def _tool(was: GenerationInputs, now: GenerationInputs) -> Iterator[Cause]:
    if was.generator != now.generator:
        message = f"generated by {was.generator}; this is {now.generator}"
        message += ", which is older" if newer(was.generator, now.generator) else ""
        yield Cause(DriftKind.GENERATOR, "mcp-gen", message, was.generator, now.generator)
    elif was.generator_digest != now.generator_digest:
        message = f"generated by another build of {now.generator}"
        digests = was.generator_digest, now.generator_digest
        yield _digest_cause(DriftKind.GENERATOR, "mcp-gen", message, *digests)
    if was.templates_digest != now.templates_digest:
        message = "the templates changed, or --templates names others"
        digests = was.templates_digest, now.templates_digest
        yield _digest_cause(DriftKind.TEMPLATES, "templates", message, *digests)
    if runtime_in(was) == runtime_in(now) and was.runtime_digest != now.runtime_digest:
        digests = was.runtime_digest, now.runtime_digest
        yield _digest_cause(DriftKind.RUNTIME, "runtime", "the vendored runtime changed", *digests)
    yield from _options(was.options, now.options)


def _options(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Cause]:
    for name in sorted(was.keys() | now.keys()):
        before, after = (
            repr(options[name]) if name in options else "not set" for options in (was, now)
        )
        if before != after:
            message = f"{name} was {before} and is {after}"
            yield Cause(DriftKind.OPTIONS, name, message, before, after)


def _lock(lock: Lock, files: Mapping[str, LockedFile]) -> Iterator[Cause]:
    if lock.files != files:
        yield Cause(DriftKind.EDITED, LOCK_NAME, "it does not list the files that are generated")


def _files(files: Mapping[str, LockedFile], tree: Tree) -> Iterator[Cause]:
    occupied = {folder for path in files for folder in parents(path)} & tree.files.keys()
    for path in sorted(occupied):
        message = "a link or a file is in place of this folder of generated files"
        yield Cause(DriftKind.EDITED, path, message)
    converted: list[str] = []
    for path, entry in files.items():
        digest = tree.files.get(path)
        if digest is None:
            if occupied.isdisjoint(parents(path)):
                yield _absent(path, tree)
        elif digest == NOT_A_FILE:
            message = "a link or a special file is in place of this generated file"
            yield Cause(DriftKind.EDITED, path, message)
        elif not tree.is_written(path, entry.sha256):
            message = "this generated file was edited by hand"
            yield _digest_cause(DriftKind.EDITED, path, message, entry.sha256, digest)
        elif digest != entry.sha256:
            converted.append(path)
    if converted:
        more = f"this file and {len(converted) - 1} more have" if converted[1:] else "this file has"
        message = f"{more} CRLF in place of LF at the end of lines; .gitattributes prevents it:"
        yield Cause(DriftKind.LINE_ENDINGS, converted[0], f"{message} {tree.attributes}")


def _absent(path: str, tree: Tree) -> Cause:
    if path in tree.folders:
        return Cause(DriftKind.EDITED, path, "a folder is in place of this generated file")
    return Cause(DriftKind.MISSING, path, "this generated file is missing")


def _foreign(
    files: Mapping[str, LockedFile], tree: Tree, patterns: tuple[str, ...]
) -> Iterator[Cause]:
    expected = {LOCK_NAME, *files, *(folder for path in files for folder in parents(path))}
    for path in sorted(tree.files.keys() - expected):
        if not any(fnmatchcase(path, pattern) for pattern in patterns):
            yield Cause(DriftKind.FOREIGN, path, "mcp-gen did not write this file")


def _digest_cause(kind: DriftKind, subject: str, message: str, was: str, now: str) -> Cause:
    return Cause(kind, subject, message, was[:_SHORT], now[:_SHORT])
