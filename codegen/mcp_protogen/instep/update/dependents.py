"""The generated packages that depend on a pin, by their locks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.instep.update.candidates import Candidate
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.pipeline.inputs.pins import EXTENSION, Pins
from mcp_protogen.pipeline.output.lock import LOCK_NAME, Lock, folders_with_locks, read_lock
from mcp_protogen.pipeline.package import PINNED, ExtensionInputs, RevisionInputs


class InputKind(StrEnum):
    """The input of a revision of a package."""

    PIN = "pin"
    """The publication that is pinned now."""
    EARLIER = "earlier"
    """A publication that was pinned before."""
    FOUND = "found"
    """The same bytes that were found."""
    OWN_FILE = "own-file"
    """A file that was passed with --schema."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """A revision of a package that a finding is about.

    `source` is the name of the passed file, or "pinned".
    """

    folder: str
    revision: str
    input_kind: InputKind
    source: str

    @property
    def would_change(self) -> bool:
        """Return whether accepting makes the package out of date."""
        return self.source == PINNED and self.input_kind is not InputKind.FOUND


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages that were found, with warnings about those that cannot be read."""

    locks: tuple[tuple[str, Lock], ...]
    notices: tuple[Problem, ...] = ()


def packages_in(folders: Sequence[Path]) -> Packages:
    """Return the packages in these folders; raise `ProblemError` if one of them has none."""
    found, problems = _read(folders)
    hint = f"name the folder that has {LOCK_NAME} in it"
    problems += [
        Problem("no-lock", "there is no generated package here", str(folder), hint=hint)
        for folder, lock in found
        if lock is None
    ]
    if problems:
        raise ProblemError(*problems)
    return _packages(found)


def packages_below(folder: Path) -> Packages:
    """Return all packages in or below a folder whose locks can be read."""
    found, problems = _read(folders_with_locks(folder))
    return _packages(found, (problem._replace(level=Level.WARNING) for problem in problems))


_Read = list[tuple[Path, Lock | None]]


def _read(folders: Iterable[Path]) -> tuple[_Read, list[Problem]]:
    found: _Read = []
    problems: list[Problem] = []
    for folder in folders:
        try:
            found.append((folder, read_lock(folder)))
        except ProblemError as error:
            problems += error.problems
    return found, problems


def _packages(found: _Read, notices: Iterable[Problem] = ()) -> Packages:
    locks = tuple((str(folder), lock) for folder, lock in found if lock is not None)
    return Packages(locks, tuple(notices))


def dependents(finding: Finding, packages: Packages, pins: Pins) -> tuple[Dependent, ...]:
    """Return the packages that have the revision of a finding, with their inputs."""
    name = finding.candidate.revision
    return tuple(
        Dependent(folder, name, _input_kind(finding, inputs, pins), inputs.source)
        for folder, lock in packages.locks
        if (inputs := _inputs(lock, finding.candidate).get(name)) is not None
    )


def _inputs(lock: Lock, candidate: Candidate) -> Mapping[str, RevisionInputs | ExtensionInputs]:
    is_extension = candidate.kind is EXTENSION
    return lock.inputs.extensions if is_extension else lock.inputs.revisions


def _input_kind(
    finding: Finding, inputs: RevisionInputs | ExtensionInputs, pins: Pins
) -> InputKind:
    pin = pins.get(finding.candidate.revision)
    if inputs.published == finding.candidate.sha256:
        return InputKind.FOUND
    if inputs.source != PINNED:
        return InputKind.OWN_FILE
    return InputKind.PIN if pin and inputs.published == pin.published.sha256 else InputKind.EARLIER
