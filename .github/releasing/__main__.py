"""PYTHONPATH=.github python -m releasing [--tag vX.Y.Z] [--out dist]

Builds all files of a release from the commit that is checked out, and checks them. With --tag, it
also checks that version and changelog are those of the tag. Signing and uploading need the identity
of a workflow, and are done there.
"""

import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.building import build_twice, checksums, commit_time, export, run
from releasing.changelog import NotReleasable, notes, version_of
from releasing.conformance import page
from releasing.contents import DISTRIBUTIONS, check_contents
from releasing.sbom import bill_of, check_inside

ROOT = Path(__file__).resolve().parents[2]


def release(checkout: Path, tag: str | None, out: Path, work: Path) -> None:
    """Fill `out` with the files of a release; raise `NotReleasable` before writing anything."""
    commit = run("git", "rev-parse", "HEAD", cwd=checkout).decode().strip()
    tree = work / "sources"
    export(checkout, commit, tree)
    version = version_of(tree)
    said = notes((tree / "CHANGELOG.md").read_text(encoding="utf-8"), version, tag)
    print(f"version {version}, of {commit}", flush=True)
    built = build_twice(checkout, commit, work)
    print("built twice: same bytes", flush=True)
    check_contents(built[0].parent, version, tree)
    print("contents: complete, nothing else", flush=True)
    run(sys.executable, "-m", "twine", "check", "--strict", *built, cwd=work)
    print("twine check: passed", flush=True)
    assets = work / "assets"
    assets.mkdir()
    write_assets(assets, tree, version, built[0].parent, commit_time(checkout, commit))
    files = [*built, *assets.iterdir()]
    (assets / "SHA256SUMS").write_text(checksums(files), encoding="utf-8")
    (assets / "NOTES.md").write_text(said, encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    # The first folder has only files for the index.
    shutil.copytree(built[0].parent, out / "packages")
    shutil.copytree(assets, out / "assets")
    print(checksums(files), end="")


def write_assets(assets: Path, tree: Path, version: str, dist: Path, epoch: str) -> None:
    """Write the conformance report and the requirements of each wheel."""
    record = (tree / "docs" / "records" / "conformance.json").read_bytes()
    report = page(record, version)
    (assets / f"mcp-gen-{version}-conformance.json").write_bytes(record)
    (assets / f"mcp-gen-{version}-conformance.md").write_text(report, encoding="utf-8")
    for distribution in DISTRIBUTIONS:
        wheel = dist / f"{distribution.name}-{version}-py3-none-any.whl"
        check_inside(wheel)
        with TemporaryDirectory(prefix="needs-") as work:
            bill = bill_of(wheel, tree / "requirements-dev.lock", Path(work), epoch)
        (assets / f"{distribution.name}-{version}.cdx.json").write_text(bill, encoding="utf-8")
    print("requirements: listed as CycloneDX", flush=True)


def main() -> int:
    """Run the command line; 1 if this cannot be released."""
    parser = ArgumentParser(prog="python -m releasing", usage=__doc__)
    parser.add_argument("--tag", default=None)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    try:
        with TemporaryDirectory(prefix="release-") as work:
            # A workflow that runs by hand has no tag.
            release(ROOT, arguments.tag or None, arguments.out, Path(work))
    except NotReleasable as error:
        print(f"not releasable: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
