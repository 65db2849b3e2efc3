"""Sources: a folder, a clone and what may be wrong with them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.sources import upstream
from mcp_protogen.pipeline.sources.clone_source import CloneSource
from mcp_protogen.pipeline.sources.folder_source import FolderSource
from mcp_protogen.pipeline.sources.opening import open_source
from mcp_protogen.pipeline.sources.source import PublishedFile, SchemaSource
from support.update.specifications import NEWEST, OLDER, Spec, commit_folder, git, reword

PATH = f"schema/{OLDER}/schema.json"


def open_folder(folder: Path, ref: str | None = None) -> SchemaSource:
    return open_source(str(folder), ref, None)


def read(source: SchemaSource, path: str = PATH) -> PublishedFile:
    found = source.read(path)
    assert found is not None
    return found


def refusal(text: str, ref: str | None = None) -> tuple[str, str]:
    with pytest.raises(ProblemError) as caught:
        open_source(text, ref, None)
    (problem,) = caught.value.problems
    return problem.code, problem.message


def test_a_folder_lists_what_has_a_schema_and_nothing_else(spec: Spec) -> None:
    (spec.folder / "schema" / "empty").mkdir()
    (spec.folder / "schema" / "README.md").write_text("Read this.")
    source = open_folder(spec.folder)
    assert isinstance(source, FolderSource)
    assert source.listing().revisions == tuple(load_pins(spec.schema))
    assert source.listing().incomplete == ""
    found = read(source)
    assert found == PublishedFile(spec.path(OLDER).read_bytes())
    assert source.read("schema/empty/schema.json") is None


def test_special_file_in_folder_is_not_opened(spec: Spec) -> None:
    source = open_folder(spec.folder)
    spec.path(OLDER).unlink()
    os.mkfifo(spec.path(OLDER))
    spec.path(NEWEST).unlink()
    spec.path(NEWEST).mkdir()
    for path in (PATH, f"schema/{NEWEST}/schema.json"):
        with pytest.raises(ProblemError, match=r"unreadable-source.*it is not a file"):
            source.read(path)
    with pytest.raises(ProblemError, match=r"unreadable-source.*name too long"):
        source.read(f"schema/{'x' * 300}/schema.json")


def test_a_folder_is_named_by_a_file_url_as_well(spec: Spec) -> None:
    source = open_source(spec.folder.as_uri(), None, None)
    assert read(source).content == spec.path(OLDER).read_bytes()


def test_names_that_no_revision_can_have_are_left_out_with_a_warning(spec: Spec) -> None:
    spec.write("..%2f\x1b[31m", b"{}")
    listing = open_folder(spec.folder).listing()
    assert listing.revisions == tuple(load_pins(spec.schema))
    assert [notice.code for notice in listing.notices] == ["unsafe-name"]
    assert "\x1b" not in listing.notices[0].message


def test_a_clone_is_read_at_its_commit_whatever_lies_in_its_working_tree(spec: Spec) -> None:
    first = commit_folder(spec.folder)
    published = spec.path(OLDER).read_bytes()
    (spec.folder / "README.md").write_text("Something else.")
    head = commit_folder(spec.folder, day="2031-07-08")
    spec.edit(OLDER, reword)
    source = open_folder(spec.folder)
    assert isinstance(source, CloneSource)
    assert source.commit == head
    assert read(source) == PublishedFile(published, first, "2031-05-06")
    assert source.listing().revisions == tuple(load_pins(spec.schema))
    assert source.read("schema/draft/schema.json") is None


def test_a_bare_clone_and_another_working_tree_are_clones(spec: Spec, tmp_path: Path) -> None:
    commit = commit_folder(spec.folder)
    git(tmp_path, "clone", "--quiet", "--bare", "spec", "bare")
    git(spec.folder, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    for folder in (tmp_path / "bare", tmp_path / "tree", spec.folder / ".git"):
        assert read(open_folder(folder)).commit == commit


def test_a_ref_names_another_commit(spec: Spec) -> None:
    published = spec.path(OLDER).read_bytes()
    commit_folder(spec.folder)
    git(spec.folder, "branch", "older")
    spec.edit(OLDER, reword)
    commit_folder(spec.folder)
    assert read(open_folder(spec.folder, "older")).content == published
    assert read(open_folder(spec.folder)).content == spec.path(OLDER).read_bytes()


def test_a_ref_that_is_none_is_refused(spec: Spec, tmp_path: Path) -> None:
    commit_folder(spec.folder)
    for ref in ("nowhere", "--all", "HEAD^{tree}"):
        assert refusal(str(spec.folder), ref)[0] == "unknown-ref"
    git(tmp_path, "init", "--quiet", "empty")
    assert refusal(str(tmp_path / "empty"))[0] == "unknown-ref"


def test_a_ref_of_something_without_commits_is_refused(spec: Spec) -> None:
    for source in (str(spec.folder), "http://127.0.0.1:9/spec"):
        assert refusal(source, "main")[0] == "conflicting-options"


def test_the_end_of_a_shallow_clone_is_not_taken_for_a_publication(
    spec: Spec, tmp_path: Path
) -> None:
    commit_folder(spec.folder)
    (spec.folder / "README.md").write_text("Something else.")
    head = commit_folder(spec.folder, day="2031-07-08")
    url = spec.folder.as_uri()
    git(tmp_path, "clone", "--quiet", "--depth", "1", url, "shallow")
    found = read(open_folder(tmp_path / "shallow"))
    assert (found.commit, found.date) == (head, None)


def test_a_partial_clone_is_not_made_to_fetch(spec: Spec, tmp_path: Path) -> None:
    commit_folder(spec.folder)
    git(spec.folder, "config", "uploadpack.allowFilter", "true")
    url = spec.folder.as_uri()
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", url, "partial")
    with pytest.raises(ProblemError, match=r"unreadable-source.*git says"):
        open_folder(tmp_path / "partial").read(PATH)


def test_a_plain_folder_inside_a_checkout_is_no_clone(spec: Spec, tmp_path: Path) -> None:
    commit_folder(tmp_path)
    assert isinstance(open_folder(spec.folder), FolderSource)


def test_hook_environment_does_not_redirect_git(
    spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = commit_folder(spec.folder)
    git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "other" / ".git" / "objects"))
    assert read(open_folder(spec.folder)).commit == commit


def test_settings_of_a_clone_start_no_program(spec: Spec, tmp_path: Path) -> None:
    commit_folder(spec.folder)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n none\n -----END PGP SIGNATURE-----\n\n"
    signed = tmp_path / "signed"
    signed.write_text(
        git(spec.folder, "cat-file", "commit", "HEAD").replace("\n\n", f"\n{signature}", 1)
    )
    git(
        spec.folder,
        "reset",
        "--soft",
        git(spec.folder, "hash-object", "-t", "commit", "-w", str(signed)),
    )
    git(spec.folder, "config", "gpg.program", str(trap))
    git(spec.folder, "config", "log.showSignature", "true")
    assert read(open_folder(spec.folder)).date == "2031-05-06"
    assert not (tmp_path / "sprung").exists()
    git(spec.folder, "log", "-1")
    assert (tmp_path / "sprung").exists()


def test_a_link_or_a_folder_in_place_of_a_file_is_refused(spec: Spec) -> None:
    spec.path(OLDER).unlink()
    spec.path(OLDER).symlink_to(spec.path(NEWEST))
    commit_folder(spec.folder)
    source = open_folder(spec.folder)
    with pytest.raises(ProblemError, match="it is not a file"):
        source.read(PATH)
    with pytest.raises(ProblemError, match="it is not a file"):
        source.read("schema")


def test_a_committed_file_is_bounded(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_folder(spec.folder)
    monkeypatch.setattr(upstream, "MAX_BYTES", 100)
    with pytest.raises(ProblemError, match="larger than"):
        open_folder(spec.folder).read(PATH)


def test_without_git_a_clone_is_refused(
    spec: Spec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit_folder(spec.folder)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(str(spec.folder))[0] == "no-git"


def test_a_git_that_hangs_is_given_up(
    spec: Spec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit_folder(spec.folder)

    def hang(*arguments: object, timeout: float, **more: object) -> None:
        raise subprocess.TimeoutExpired("git", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert refusal(str(spec.folder)) == (
        "unreadable-source",
        "nothing could be read: git took longer than 60 seconds",
    )


def test_a_damaged_clone_is_refused(spec: Spec) -> None:
    commit_folder(spec.folder)
    shutil.rmtree(spec.folder / ".git" / "objects")
    assert refusal(str(spec.folder))[0] == "unreadable-source"


@pytest.mark.parametrize(
    "text",
    [
        "nowhere",
        "file.json",
        "empty",
        "ftp://example.com/a",
        "ssh://somebody:secret@example.com/a?secret",
        "http://[::1/a?secret",
        "file://example.com/a?secret",
    ],
)
def test_invalid_source_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.json").write_text("{}")
    Path("empty").mkdir()
    with pytest.raises(ProblemError, match="not-a-source") as caught:
        open_source(text, None, None)
    assert "secret" not in str(caught.value)
