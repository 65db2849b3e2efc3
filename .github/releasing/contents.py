"""The exact contents of sdists and wheels."""

import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from releasing.changelog import NotReleasable

RUNTIME: Final = "codegen/mcp_protogen/runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A published project: its files in the sources, and their places in wheel and sdist."""

    name: str
    wheel: tuple[tuple[str, str], ...]
    """Folders of the sources, and where each is in the wheel."""
    sdist: tuple[tuple[str, str], ...]
    """Folders or files of the sources, and where each is in the sdist."""
    metadata: frozenset[str]
    """The files of the wheel's `.dist-info`."""
    left_out: frozenset[str] = frozenset()
    """Files or folders of the sources that are not in the wheel."""


_USUAL: Final = frozenset({"METADATA", "RECORD", "WHEEL"})
# Hatchling adds these to each sdist: the latter to leave out the same files if it is built again.
_ADDED: Final = frozenset({"PKG-INFO", ".gitignore"})

DISTRIBUTIONS: Final = (
    Distribution(
        name="mcp_protogen",
        wheel=(
            ("codegen/mcp_protogen", "mcp_protogen"),
            ("generated/mcp_revisions", "mcp_revisions"),
            ("templates", "mcp_protogen/templates"),
            ("schema", "mcp_protogen/schema"),
        ),
        sdist=(
            *((folder, folder) for folder in ("codegen", "generated", "templates", "schema")),
            *((file, file) for file in ("README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md")),
            ("pyproject.toml", "pyproject.toml"),
        ),
        metadata=_USUAL | {"entry_points.txt", "licenses/LICENSE", "sboms/mcp-protogen.cdx.json"},
        left_out=frozenset({f"{RUNTIME}/pyproject.toml", "schema/rehearsals"}),
    ),
    Distribution(
        name="mcp_protogen_runtime",
        wheel=((RUNTIME, "mcp_protogen_runtime"),),
        sdist=((RUNTIME, ""),),
        metadata=_USUAL | {"licenses/LICENSE", "licenses/NOTICE"},
        left_out=frozenset({f"{RUNTIME}/pyproject.toml"}),
    ),
)


def _map_files(tree: Path, places: Iterable[tuple[str, str]], left_out: frozenset[str]) -> set[str]:
    found: set[str] = set()
    for source, destination in places:
        root = tree / source
        for path in root.rglob("*") if root.is_dir() else (root,):
            relative = path.relative_to(tree)
            places_above = {place.as_posix() for place in (relative, *relative.parents)}
            if _is_source(path) and left_out.isdisjoint(places_above):
                below = path.relative_to(root).as_posix() if root.is_dir() else ""
                found.add("/".join(part for part in (destination, below) if part))
    return found


def _is_source(path: Path) -> bool:
    # Python writes that folder beside imported modules.
    return path.is_file() and "__pycache__" not in path.parts


def wheel_files(one: Distribution, version: str, tree: Path) -> set[str]:
    """Return the names of the files that the wheel must have, from the sources."""
    metadata = {f"{one.name}-{version}.dist-info/{name}" for name in one.metadata}
    return _map_files(tree, one.wheel, one.left_out) | metadata


def sdist_files(one: Distribution, version: str, tree: Path) -> set[str]:
    """Return the names of the files that the sdist must have, from the sources."""
    files = _map_files(tree, one.sdist, frozenset()) | _ADDED
    return {f"{one.name}-{version}/{name}" for name in files}


def wrong_contents(one: Distribution, version: str, dist: Path, tree: Path) -> list[str]:
    """Return missing and unexpected files of the sdist and wheel of a distribution.

    `dist` is the folder with both, `tree` their sources.
    """
    wheel = dist / f"{one.name}-{version}-py3-none-any.whl"
    sdist = dist / f"{one.name}-{version}.tar.gz"
    with ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as packed:
        in_sdist = {member.name for member in packed.getmembers()}
    return [
        *_compare(wheel, in_wheel, wheel_files(one, version, tree)),
        *_compare(sdist, in_sdist, sdist_files(one, version, tree)),
    ]


def _compare(path: Path, found: set[str], wanted: set[str]) -> list[str]:
    missing = [f"{path.name}: {name} is missing" for name in sorted(wanted - found)]
    return missing + [f"{path.name}: {name} is unexpected" for name in sorted(found - wanted)]


def check_contents(dist: Path, version: str, tree: Path) -> None:
    """Raise `NotReleasable` with all missing and unexpected files of the build."""
    wrong = [
        problem
        for distribution in DISTRIBUTIONS
        for problem in wrong_contents(distribution, version, dist, tree)
    ]
    if wrong:
        raise NotReleasable("\n".join(wrong))
