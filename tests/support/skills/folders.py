"""Folders of skills, written for a test."""

from collections.abc import Mapping
from pathlib import Path


def skill(name: str, more: str = "", body: str = "Do this.\n") -> str:
    """Return the text of a `SKILL.md`."""
    return f"---\nname: {name}\ndescription: What {name} is for.\n{more}---\n{body}"


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


FILES: Mapping[str, str | bytes] = {
    "notes.txt": "This is in no skill.",
    "git-workflow/SKILL.md": skill("git-workflow", "license: MIT\n", "Grüße\r\n"),
    "git-workflow/.git/config": "[hidden]",
    "git-workflow/logo.png": b"\x89PNG\xff",
    "acme/refunds/SKILL.md": skill("refunds"),
    "acme/refunds/examples/a b.md": "Dear customer,",
    "acme/refunds/examples/LICENSE": "MIT",
    "acme/refunds/examples/data": b"\xff",
    "acme/refunds/nested/SKILL.md": skill("nested"),
}
"""Three skills, one in another, with what is easily got wrong."""
