"""`make release`: its refusals, and the files beside the packages."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from support.folders import ROOT
from support.tables import case

from releasing import building
from releasing.building import build_twice, checksums
from releasing.changelog import NotReleasable, notes, sections, version_of
from releasing.conformance import page
from releasing.contents import Distribution, wrong_contents
from releasing.sbom import complete_sbom, read_installed

CHANGELOG = """# Changelog

What is public.

## Unreleased

## 0.2.0 - 2026-11-23

### For authors of servers

- One thing.

## 0.1.0 - 2026-01-02

- The first.
"""


def test_the_notes_of_a_release_are_the_section_of_its_version() -> None:
    assert notes(CHANGELOG, "0.2.0", "v0.2.0") == "### For authors of servers\n\n- One thing.\n"
    assert notes(CHANGELOG, "0.1.0") == "- The first.\n"


def test_a_release_that_does_not_fit_together_is_refused() -> None:
    left = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- Not in any version.\n")
    undated = CHANGELOG.replace("0.2.0 - 2026-11-23", "0.2.0")
    for name, text, version, tag, why in (
        ("another tag", CHANGELOG, "0.2.0", "v0.2.1", "the tag v0.2.1 is not v0.2.0"),
        ("a tag without v", CHANGELOG, "0.2.0", "0.2.0", "the tag 0.2.0 is not v0.2.0"),
        ("no section", CHANGELOG, "0.3.0", "v0.3.0", "needs a section: ## 0.3.0 - YYYY"),
        ("no date", undated, "0.2.0", "v0.2.0", "needs a section: ## 0.2.0 - YYYY"),
        ("entries are left", left, "0.2.0", "v0.2.0", "entries under Unreleased"),
    ):
        with case(name), pytest.raises(NotReleasable, match=why):
            notes(text, version, tag)
    assert notes(left, "0.2.0"), "without a tag, work goes on"


def test_the_changelog_has_a_section_for_the_version_of_the_sources() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert notes(text, version_of(ROOT))
    dated = [date for name, (date, _) in sections(text).items() if name != "Unreleased"]
    assert all(dated) and dated == sorted(dated, reverse=True)


def test_two_builds_that_differ_are_no_release(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make_wheels(content: str, out: Path) -> Sequence[Path]:
        out.mkdir()
        (out / "same.whl").write_text("same")
        (out / "other.whl").write_text(content)
        return sorted(out.iterdir())

    def alike(tree: Path, out: Path, epoch: str) -> Sequence[Path]:
        return make_wheels((tree / "file").read_text() + epoch, out)

    def unlike(tree: Path, out: Path, epoch: str) -> Sequence[Path]:
        return make_wheels(str(tree), out)

    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("committed")
    git(tmp_path, "add", "file")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1234567890 +0000")
    git(tmp_path, *AUTHOR, "commit", "-q", "-m", "First")
    (tmp_path / "file").write_text("not committed")
    monkeypatch.setattr(building, "build", alike)
    once = build_twice(tmp_path, "HEAD", tmp_path / "alike")
    assert [path.name for path in once] == ["other.whl", "same.whl"]
    assert once[0].read_text() == "committed1234567890"
    monkeypatch.setattr(building, "build", unlike)
    with pytest.raises(NotReleasable, match=r"two builds differ: other\.whl$"):
        build_twice(tmp_path, "HEAD", tmp_path / "unlike")


AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.com")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, check=True)


def test_checksums_are_read_by_sha256sum(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    text = checksums([tmp_path / "b", tmp_path / "a"])
    done = subprocess.run(
        ("sha256sum", "--check"), cwd=tmp_path, input=text, capture_output=True, text=True
    )
    assert done.stdout == "a: OK\nb: OK\n"


ONE = Distribution(
    name="one",
    wheel=(("code/one", "one"),),
    sdist=(("code", "code"), ("LICENSE", "LICENSE")),
    metadata=frozenset({"METADATA"}),
    left_out=frozenset({"code/one/notes.txt"}),
)


def test_missing_and_extra_files_in_package_are_found(tmp_path: Path) -> None:
    tree, dist = tmp_path / "tree", tmp_path / "dist"
    for name in ("code/one/a.py", "code/one/notes.txt", "code/one/__pycache__/a.pyc", "LICENSE"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    dist.mkdir()
    with ZipFile(dist / "one-1-py3-none-any.whl", "w") as wheel:
        for name in ("one/a.py", "one/secret.pem", "one/notes.txt"):
            wheel.writestr(name, "")
    names = ["PKG-INFO", ".gitignore", "code/one/a.py", "code/one/notes.txt", "tests/a.py"]
    packed = tmp_path / "one-1"
    for name in names:
        (packed / name).parent.mkdir(parents=True, exist_ok=True)
        (packed / name).touch()
    files = [f"one-1/{name}" for name in names]
    archive = str(dist / "one-1.tar.gz")
    subprocess.run(("tar", "-czf", archive, *files), cwd=tmp_path, check=True)
    assert wrong_contents(ONE, "1", dist, tree) == [
        "one-1-py3-none-any.whl: one-1.dist-info/METADATA is missing",
        "one-1-py3-none-any.whl: one/notes.txt is unexpected",
        "one-1-py3-none-any.whl: one/secret.pem is unexpected",
        "one-1.tar.gz: one-1/LICENSE is missing",
        "one-1.tar.gz: one-1/tests/a.py is unexpected",
    ]


def test_the_conformance_report_has_the_table_of_the_page() -> None:
    record = (ROOT / "docs" / "records" / "conformance.json").read_bytes()
    shown = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    shown = shown.partition("<!-- conformance: begin -->\n")[2]
    written = page(record, "0.2.0")
    assert written.startswith("# Conformance of mcp-gen 0.2.0\n")
    assert shown.partition("<!-- conformance: end -->")[0].strip() in written


def test_wheel_requirements_have_digests_and_name_extras(tmp_path: Path) -> None:
    wheel = tmp_path / "Our_Wheel-1-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        offered = "Provides-Extra: more\nProvides-Extra: dev\n"
        archive.writestr("Our_Wheel-1.dist-info/METADATA", f"Name: our-wheel\n{offered}")
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"install": [install_report(name) for name in NEEDED]}))
    document: dict[str, Any] = {
        "metadata": {},
        "components": [
            {"name": name, "version": "1", "bom-ref": name, "externalReferences": ["file:///here"]}
            for name in NEEDED
        ],
        # It does not know extras.
        "dependencies": [{"ref": "Direct", "dependsOn": ["in_direct", "extra"]}],
    }
    done = complete_sbom(document, wheel, read_installed(report))
    assert done["metadata"]["component"] == {
        "name": "our-wheel",
        "version": "1",
        "bom-ref": "our-wheel",
        "hashes": [{"alg": "SHA-256", "content": "digest of our-wheel"}],
        "purl": "pkg:pypi/our-wheel@1",
    }
    assert {
        component["purl"]: (component["scope"], component["hashes"][0]["content"])
        for component in done["components"]
    } == {
        "pkg:pypi/direct@1": ("required", "digest of Direct"),
        "pkg:pypi/in-direct@1": ("required", "digest of in_direct"),
        "pkg:pypi/extra@1": ("optional", "digest of extra"),
    }
    assert {dependency["ref"]: dependency["dependsOn"] for dependency in done["dependencies"]} == {
        "our-wheel": ["Direct", "extra"],
        "Direct": ["in_direct"],
        "in_direct": [],
        "extra": ["Direct"],
    }


NEEDED = {
    "our-wheel": ["Direct[fast]>=1", 'extra>=1; extra == "more"', 'nothing; extra == "dev"'],
    "Direct": ['in_direct; extra == "fast"', 'extra; extra == "other"'],
    "in_direct": [],
    "extra": ["direct"],
}


def install_report(name: str) -> dict[str, Any]:
    hashes = {"hashes": {"sha256": f"digest of {name}"}}
    about = {"name": name, "requires_dist": NEEDED[name]}
    return {"metadata": about, "download_info": {"archive_info": hashes}}
