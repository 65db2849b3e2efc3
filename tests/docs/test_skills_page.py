"""The page about skills: its example runs as it stands."""

import asyncio
from pathlib import Path

import pytest
from support.docs.pages import example, indented_block
from support.skills.folders import write_files


def test_the_example_of_skills_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    head = indented_block("skills.md", "---")
    write_files(tmp_path, {"skills/acme/refunds/SKILL.md": f"{head}Be kind.\n"})
    program = example("skills.md", "skills")
    asyncio.run(program["main"]())
    said = capsys.readouterr().out
    begin = "skill://acme/refunds/SKILL.md How to give money back. "
    assert said.startswith(begin) and head in said
    assert "Be kind." in said and "not used" not in said
    # A change between the entry and the reading is refused.
    folder = program["Docs"].skills
    unkind = {"uri": "skill://acme/refunds/SKILL.md", "text": "Be unkind."}
    monkeypatch.setattr(folder, "content", {unkind["uri"]: unkind}.get)
    asyncio.run(program["main"]())
    assert "not used: size" in capsys.readouterr().out
