"""The programs that pages show, with the committed package in place of `pkg`."""

import re
from collections.abc import Mapping
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Final

from support.folders import ROOT
from support.generated.golden_package import PACKAGE

DOCS: Final = ROOT / "docs"


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def programs(name: str) -> list[str]:
    """The programs of a page, in its order."""
    found: list[str] = re.findall(r"```python\n(.*?)```", renamed(page(name)), re.DOTALL)
    return [dedent(program) for program in found]


def example(
    page_name: str, name: str, changes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """The names of a program that a page marks as an example, with some of its texts changed."""
    marked = rf"<!-- example: {name} -->\n```python\n(.*?)```"
    (program,) = re.findall(marked, renamed(page(page_name)), re.DOTALL)
    for old, new in changes.items():
        program = program.replace(old, new)
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def renamed(text: str) -> str:
    """A text with the name of the committed package."""
    return re.sub(r"\bpkg\b", PACKAGE.name, text)


def defined(name: str) -> dict[str, Any]:
    """All that the programs of a page define, each of which stands for itself."""
    names: dict[str, Any] = {}
    for program in programs(name):
        own: dict[str, Any] = {"__name__": name}
        exec(program, own)
        names |= own
    return names
