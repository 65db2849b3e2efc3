"""The blocks of code on pages, and the programs among them.

Tests get all code they run from here, so that `support.docs.accounting` finds the blocks that run
in the calls of these functions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Final

from support.folders import ROOT
from support.generated.golden_package import PACKAGE
from support.generated.package_copy import copied_package

DOCS: Final = ROOT / "docs"

_FENCED: Final = re.compile(
    r"^(?:<!-- (?P<mark>\w+: .+?) -->\n)?(?P<indent> *)```(?P<info>.*)\n(?P<text>(?s:.*?))^ *```$",
    re.MULTILINE,
)
_INDENTED: Final = re.compile(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a page: fenced, with a kind, or indented, without one.

    A label names it: the rest of the fence's line, or a comment above it, `<!-- example: label
    -->`.
    """

    page: str
    kind: str
    label: str
    text: str

    @property
    def place(self) -> str:
        """Return the page and the first line of the block."""
        return f"{self.page}: {self.text.partition(chr(10))[0]}"


def page(name: str) -> str:
    """The text of a page of `docs`, or of another page of the checkout."""
    here = DOCS / name
    return (here if here.exists() else ROOT / name).read_text(encoding="utf-8")


@cache
def blocks(name: str) -> tuple[Block, ...]:
    """All blocks of a page: first those that are fenced, then those that are indented."""
    text = page(name)
    found: list[Block] = []
    for block in _FENCED.finditer(text):
        kind, _, rest = block["info"].partition(" ")
        label = rest or (block["mark"] or "").partition(": ")[2]
        found.append(Block(page=name, kind=kind, label=label, text=dedent(block["text"])))
    indented = _INDENTED.findall(_FENCED.sub("", text))
    found += (Block(page=name, kind="", label="", text=dedent(block)) for block in indented)
    return tuple(found)


def block_texts(name: str, kind: str = "python", label: str = "") -> list[str]:
    """Return the texts of a page's blocks of a kind, in order; with a label, only those."""
    return [
        block.text for block in blocks(name) if block.kind == kind and label in ("", block.label)
    ]


def indented_block(name: str, begin: str) -> str:
    """Return the only indented block of a page with this beginning."""
    (text,) = (
        block.text for block in blocks(name) if not block.kind and block.text.startswith(begin)
    )
    return text


def anchors(text: str) -> set[str]:
    """Return the headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def programs(name: str) -> list[str]:
    """The programs of a page, in its order, with the committed package in place of `pkg`."""
    return [rename_package(program) for program in block_texts(name)]


def example(
    name: str, label: str, changes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """The names of a program that a page marks as an example, with some of its texts changed."""
    (program,) = block_texts(name, label=label)
    for old, new in changes.items():
        program = program.replace(old, new)
    return run(program)


def examples(name: str) -> dict[str, dict[str, Any]]:
    """The names of all programs of a page, by their labels."""
    return {block.label: run(block.text) for block in blocks(name) if block.kind == "python"}


def run_page(name: str) -> dict[str, Any]:
    """Run each program of a page alone, and return all their names."""
    names: dict[str, Any] = {}
    for program in block_texts(name):
        names |= run(program, name)
    return names


def run(program: str, name: str = "shown") -> dict[str, Any]:
    """Run a program with the committed package in place of `pkg`, and return its names."""
    names: dict[str, Any] = {"__name__": name}
    exec(rename_package(program), names)
    return names


def rename_package(text: str) -> str:
    """A text with the name of the committed package."""
    return re.sub(r"\bpkg\b", PACKAGE.name, text)


def beside_package(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder that has the copied package as `pkg`, and nothing else."""
    (folder / "pkg").symlink_to(copied_package())
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def find_pieces(name: str, column: int) -> list[str]:
    """Return the pieces of code in a column of the tables of a page that compares packages.

    A cell `the same` stands for the cell before it.
    """
    rows = re.findall(r"^\| (?!fastmcp|mcp 1)(.*) \|$", page(name), re.MULTILINE)
    cells = (re.sub(r"(.+?) \| the same \|", r"\1 | \1 |", row).split(" | ") for row in rows)
    return [*chain(*(re.findall(r"`([^`]+)`", row[column]) for row in cells))]
