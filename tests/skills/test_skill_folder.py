"""A folder of skills: its published files, and its refusals."""

from hashlib import sha256
from os import mkfifo
from pathlib import Path

import pytest
from mcp_revisions import InvalidSkill, SkillFolder
from support import tables
from support.skills.folders import FILES, skill, write_files

GIT = "skill://git-workflow"
REFUNDS = "skill://acme/refunds"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SkillFolder:
    return SkillFolder(write_files(tmp_path_factory.mktemp("skills"), FILES))


def test_an_entry_has_each_file_of_the_skill_with_digest_and_size(folder: SkillFolder) -> None:
    entries = {entry["uri"]: entry for entry in folder.entries}
    assert [*entries] == [f"{REFUNDS}/SKILL.md", f"{REFUNDS}/nested/SKILL.md", f"{GIT}/SKILL.md"]
    listed = {
        uri: [resource["uri"] for resource in entry["resources"]] for uri, entry in entries.items()
    }
    assert listed[f"{REFUNDS}/SKILL.md"] == [
        f"{REFUNDS}/SKILL.md", f"{REFUNDS}/examples/LICENSE", f"{REFUNDS}/examples/a%20b.md",
        f"{REFUNDS}/examples/data", f"{REFUNDS}/nested/SKILL.md",
    ]  # fmt: skip
    assert listed[f"{REFUNDS}/nested/SKILL.md"] == [f"{REFUNDS}/nested/SKILL.md"]
    # Files with a leading dot do not belong to the skill.
    assert listed[f"{GIT}/SKILL.md"] == [f"{GIT}/SKILL.md", f"{GIT}/logo.png"]
    logo = FILES["git-workflow/logo.png"]
    assert isinstance(logo, bytes)
    assert entries[f"{GIT}/SKILL.md"]["resources"][1] == {
        "uri": f"{GIT}/logo.png", "digest": f"sha256:{sha256(logo).hexdigest()}", "size": len(logo)
    }  # fmt: skip
    assert entries[f"{GIT}/SKILL.md"]["frontmatter"] == {
        "name": "git-workflow", "description": "What git-workflow is for.", "license": "MIT"
    }  # fmt: skip


def test_files_are_text_if_they_are_utf_8_and_directories_list_their_children(
    folder: SkillFolder,
) -> None:
    text = folder.content(f"{GIT}/SKILL.md") or {}
    assert (text["mimeType"], text["text"]) == ("text/markdown", FILES["git-workflow/SKILL.md"])
    image = folder.content(f"{GIT}/logo.png") or {}
    assert (image["mimeType"], image["blob"]) == ("image/png", "iVBOR/8=")
    assert folder.resource(f"{REFUNDS}/examples/LICENSE")["mimeType"] == "text/plain"
    assert folder.resource(f"{REFUNDS}/examples/data")["mimeType"] == "application/octet-stream"
    children = {child["uri"]: child["mimeType"] for child in folder.children(REFUNDS) or ()}
    assert children == {
        f"{REFUNDS}/SKILL.md": "text/markdown",
        f"{REFUNDS}/examples": "inode/directory",
        f"{REFUNDS}/nested": "inode/directory",
    }
    assert [child["name"] for child in folder.children("skill://acme") or ()] == ["refunds"]


def test_other_paths_are_refused(folder: SkillFolder) -> None:
    for path in (
        "", "notes.txt", "../x", "git-workflow/../notes.txt", "git-workflow/.git/config",
        "git-workflow/%2e%2e/notes.txt", "git-workflow/", "git-workflow//SKILL.md", "/etc/passwd",
        "git-workflow/skill.md",
    ):  # fmt: skip
        with tables.case(path):
            for uri in (f"skill://{path}", path, f"file://{path}"):
                found = folder.content(uri), folder.children(uri), folder.entry(uri)
                assert found == (None, None, None)


def test_invalid_skill_is_refused_with_its_place(tmp_path: Path) -> None:
    long = "a" * 65
    rows: dict[str, tuple[dict[str, str | bytes], str]] = {
        "link": ({}, "link: it must be a file or folder"),
        "folder": ({}, "folder: it must be a file or folder"),
        "pipe": ({}, "pipe: it must be a file or folder"),
        "no frontmatter": ({"a/SKILL.md": "Hello"}, "SKILL.md: it must begin with YAML"),
        "no text": ({"a/SKILL.md": b"---\n\xff"}, "codec can't decode"),
        "no description": (
            {"a/SKILL.md": "---\nname: a\n---\n"},
            "must have a name and a description",
        ),
        "another name": ({"a/SKILL.md": skill("b")}, "its name 'b' must be that of its folder"),
        "capital": ({"A/SKILL.md": skill("A")}, "lower-case letters, digits and single hyphens"),
        "hyphens": ({"a--b/SKILL.md": skill("a--b")}, "lower-case letters"),
        "long": ({f"{long}/SKILL.md": skill(long)}, "lower-case letters"),
        "no folder": ({"SKILL.md": skill("a")}, "give the parent of the skill's folder"),
        "many": (
            {"a/SKILL.md": skill("a"), **{f"a/{number}": "" for number in range(512)}},
            "at most 512 files and 16777216 bytes, not 513",
        ),
        "large": (
            {"a/SKILL.md": skill("a"), "a/1": b"x" * 2**23, "a/2": b"x" * 2**23},
            "at most 512 files and 16777216 bytes, not 3",
        ),
        "large file": (
            {"a/SKILL.md": skill("a"), "a/1": b"x" * (2**24 + 1)},
            "must not exceed 16777216",
        ),
    }
    for name, (files, why) in rows.items():
        place = tmp_path / name.replace(" ", "-")
        write_files(place, files or {"a/SKILL.md": skill("a")})
        if name in ("link", "folder"):
            folder = tmp_path / "hello"
            folder.mkdir(exist_ok=True)
            (place / "a" / name).symlink_to(folder if name == "folder" else "SKILL.md")
        if name == "pipe":
            mkfifo(place / "a" / name)
        with tables.case(name), pytest.raises(InvalidSkill, match=why):
            SkillFolder(place)


def test_a_folder_is_as_it_was_read_until_it_is_read_again(tmp_path: Path) -> None:
    folder = SkillFolder(write_files(tmp_path, {"a/SKILL.md": skill("a")}))
    before = folder.entries
    write_files(tmp_path, {"a/more.md": "More."})
    assert folder.entries == before and folder.content("skill://a/more.md") is None
    folder.reload()
    assert len(folder.entries[0]["resources"]) == 2
    write_files(tmp_path, {"b/SKILL.md": skill("c")})
    with pytest.raises(InvalidSkill, match="its name 'c'"):
        folder.reload()
    assert folder.content("skill://a/more.md") is not None
