"""Sdists and wheels from the committed files, twice, to show that they are the same bytes."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Final

from releasing.changelog import NotReleasable

PROJECTS: Final = (".", "codegen/mcp_protogen/runtime")
"""The folders of the published projects, each with its pyproject.toml."""


def run(*command: str | Path, cwd: Path, **variables: str) -> bytes:
    """Return the output of a command; raise `NotReleasable` if it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise NotReleasable(f"{' '.join(map(str, command))} ended with {done.returncode}")
    return done.stdout


def commit_time(checkout: Path, commit: str) -> str:
    """Return the time of a commit for `SOURCE_DATE_EPOCH`: seconds since 1970."""
    return run("git", "show", "-s", "--format=%ct", commit, cwd=checkout).decode().strip()


def export(checkout: Path, commit: str, tree: Path) -> None:
    """Write the files of a commit into a new folder, so that only committed files are released."""
    packed = run("git", "archive", "--format=tar", commit, cwd=checkout)
    tree.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(tree, filter="data")


def build(tree: Path, out: Path, epoch: str) -> Sequence[Path]:
    """Build the sdist of each project of a tree, and its wheel from that; return all files.

    The tools are those of this environment, whose versions requirements-dev.lock has.
    """
    for project in PROJECTS:
        options = ("--no-isolation", "--outdir", out)
        run(
            *(sys.executable, "-m", "build", *options, project),
            cwd=tree,
            SOURCE_DATE_EPOCH=epoch,
        )
    return sorted(out.iterdir())


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return sha256(path.read_bytes()).hexdigest()


def build_twice(checkout: Path, commit: str, work: Path) -> Sequence[Path]:
    """Build in two folders; raise `NotReleasable` if the files differ, else return the first."""
    epoch = commit_time(checkout, commit)
    made: list[Sequence[Path]] = []
    for name in ("once", "again"):
        export(checkout, commit, work / name / "tree")
        made.append(build(work / name / "tree", work / name / "dist", epoch))
    once, again = ({path.name: digest(path) for path in paths} for paths in made)
    if once != again:
        differing = [name for name in once if once[name] != again.get(name)]
        raise NotReleasable(f"two builds differ: {', '.join(differing)}")
    return made[0]


def checksums(paths: Sequence[Path]) -> str:
    """Return a line for each file, as `sha256sum --check` reads them."""
    return "".join(f"{digest(path)}  {path.name}\n" for path in sorted(paths))
