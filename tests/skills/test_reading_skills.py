"""A client gets exactly the listed files of a skill, or an error."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from mcp_protogen.runtime.features.skills.entries import digest_of
from mcp_revisions import SkillFile, UnverifiedSkill, read_skill
from mcp_revisions.v2026_07_28.ext.skills.models import Skill
from support import tables
from support.folders import environment
from support.skills.folders import skill

ROOT = "skill://acme/refunds"
URI, MORE = f"{ROOT}/SKILL.md", f"{ROOT}/more.md"
TEXT = skill("refunds", "n: 1\n")
FRONT = {"name": "refunds", "description": "What refunds is for.", "n": 1}


def file_entry(uri: str, text: str) -> dict[str, Any]:
    return {"uri": uri, "digest": digest_of(text.encode()), "size": len(text.encode())}


ENTRY: dict[str, Any] = {
    "uri": URI, "frontmatter": FRONT,
    "resources": [file_entry(URI, TEXT), file_entry(MORE, "More.")],
}  # fmt: skip


class Answering:
    """A stand-in for a client that answers with contents, and counts reads."""

    def __init__(self, *contents: dict[str, Any]) -> None:
        self.contents = contents
        self.read: list[str] = []

    async def read_resource(self, uri: str, /) -> Any:
        self.read.append(uri)
        answer = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return _Result({**answer, "contents": list(self.contents)})


class _Result:
    def __init__(self, wire: dict[str, Any]) -> None:
        self.wire = wire

    def to_wire(self) -> dict[str, Any]:
        return self.wire


def read(entry: dict[str, Any], client: Answering, file: str, **options: bool) -> SkillFile:
    return asyncio.run(read_skill(client, Skill.from_wire(entry), file, **options))


def text(uri: str, text: str) -> dict[str, Any]:
    return {"uri": uri, "text": text}


def test_a_file_is_named_by_its_path_or_its_uri() -> None:
    for file in ("more.md", MORE):
        found = read(ENTRY, Answering(text(MORE, "More.")), file)
        assert (found.uri, found.text, found.verified) == (MORE, "More.", True)
    blob = {"uri": MORE, "blob": "TW9yZS4=", "mimeType": "text/markdown"}
    found = read(ENTRY, Answering(blob), "more.md")
    assert (found.data, found.mime_type) == (b"More.", "text/markdown")
    found = asyncio.run(read_skill(Answering(text(URI, TEXT)), Skill.from_wire(ENTRY)))
    assert found.text == TEXT


def test_contents_that_are_not_what_the_entry_says_are_refused() -> None:
    changed = TEXT.replace("What refunds", "Who refunds")
    resealed = {**ENTRY, "resources": [file_entry(URI, changed)]}
    rows: list[tuple[str, dict[str, Any], str, list[dict[str, Any]]]] = [
        ("size", ENTRY, URI, [text(URI, f"{TEXT} ")]),
        ("digest", ENTRY, URI, [text(URI, TEXT.replace("Do", "Be"))]),
        ("digest", ENTRY, MORE, [text(MORE, "Less.")]),
        ("frontmatter", resealed, URI, [text(URI, changed)]),
        ("content", ENTRY, MORE, []),
        ("content", ENTRY, MORE, [text(MORE, "More."), text(MORE, "More.")]),
        ("content", ENTRY, MORE, [text(URI, "More.")]),
        ("content", ENTRY, MORE, [{"uri": MORE, "blob": "?"}]),
        ("content", ENTRY, MORE, [text(MORE, "\ud800")]),
    ]
    for reason, entry, file, contents in rows:
        with tables.case((reason, contents)), pytest.raises(UnverifiedSkill) as refused:
            read(entry, Answering(*contents), file)
        assert (refused.value.reason, refused.value.uri) == (reason, file)


def test_the_frontmatter_is_that_of_the_entry_field_by_field() -> None:
    for front in (
        {**FRONT, "n": True},
        {**FRONT, "more": None},
        {
            "name": "refunds",
        },
    ):
        entry = {**ENTRY, "frontmatter": {"description": "d", **front}}
        with tables.case(front), pytest.raises(UnverifiedSkill, match="differs from its entry"):
            read(entry, Answering(text(URI, TEXT)), URI)
    assert read({**ENTRY, "frontmatter": {**FRONT, "n": 1.0}}, Answering(text(URI, TEXT)), URI)


def test_unlisted_file_is_never_requested() -> None:
    other = "skill://acme/other/SKILL.md"
    for file in ("gone.md", "../other/SKILL.md", other, "nested/../more.md", f"{ROOT}/", ""):
        client = Answering(text(file, ""))
        with tables.case(file), pytest.raises(UnverifiedSkill) as refused:
            read(ENTRY, client, file)
        assert refused.value.reason == "unlisted" and client.read == []


def test_entries_that_cannot_be_right_are_refused() -> None:
    own = file_entry(URI, TEXT)
    rows: list[dict[str, Any]] = [
        {"uri": "skill://acme/other/SKILL.md"},
        {"uri": f"{ROOT}/skill.md"},
        {"uri": "SKILL.md"},
        {"frontmatter": {**FRONT, "name": "other"}},
        {"resources": []},
        {"resources": [file_entry(MORE, "More.")]},
        {"resources": [own, own]},
        {"resources": [own, file_entry("skill://acme/other/SKILL.md", "")]},
        {"resources": [own, file_entry(f"{ROOT}/../other/SKILL.md", "")]},
        {"resources": [own, file_entry(f"{ROOT}/%2e%2e/other", "")]},
    ]
    for wrong in rows:
        client = Answering(text(URI, TEXT))
        with tables.case(wrong), pytest.raises(UnverifiedSkill) as refused:
            read({**ENTRY, **wrong}, client, "SKILL.md")
        assert refused.value.reason == "entry" and client.read == []


def test_a_dynamic_skill_is_read_only_where_that_is_allowed() -> None:
    entry, client = {**ENTRY, "resources": "dynamic"}, Answering(text(f"{ROOT}/new.md", "New."))
    with pytest.raises(UnverifiedSkill) as refused:
        read(entry, client, "new.md")
    assert refused.value.reason == "dynamic" and client.read == []
    found = read(entry, client, "new.md", unverified=True)
    assert (found.text, found.verified) == ("New.", False)
    with pytest.raises(UnverifiedSkill, match="differs from its entry"):
        read(entry, Answering(text(URI, skill("refunds"))), URI, unverified=True)
    with pytest.raises(UnverifiedSkill, match="does not list"):
        read(entry, client, "../other/SKILL.md", unverified=True)


def test_without_pyyaml_an_error_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['yaml'] = None\n"
        "from mcp_protogen.runtime.features.skills.frontmatter import frontmatter_of\n"
        "try:\n    frontmatter_of('---\\na: 1\\n---\\n')\n"
        "except ImportError as error:\n    print(error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "a skill needs the package yaml: pip install pyyaml\n"
