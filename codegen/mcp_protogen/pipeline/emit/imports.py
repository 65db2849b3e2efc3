"""The imports of a module, in the order of isort, with one statement for each module."""

import re
import sys

_ONE = r"^ *(?:from \S+ )?import [^(\n]+\n(?:\n(?=from |import ))?"
_BLOCK = re.compile(f"(?:{_ONE})+", re.MULTILINE)
_FROM = re.compile(r"( *)from (\S+) import (.+)")
_AS = " as "


def sort_imports(source: str) -> str:
    """Return a module with its blocks of imports sorted; each import is on one line."""
    return _BLOCK.sub(lambda block: _sort_block(block[0]), source)


def _sort_block(block: str) -> str:
    lines = [line for line in block.split("\n") if line]
    if any("#" in line for line in lines):
        return block
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    by_module: dict[str, set[str]] = {}
    plain: set[str] = set()
    for line in lines:
        if imported := _FROM.fullmatch(line):
            names = imported[3].split(", ")
            for name in names:
                # `import … as` is a separate statement.
                key = f"{imported[2]} {name}" if _AS in name else imported[2]
                by_module.setdefault(key, set()).add(name)
        else:
            plain.add(line.strip().removeprefix("import "))
    sections: dict[int, list[str]] = {}
    for name in sorted(plain, key=_place):
        sections.setdefault(_section(name), []).append(f"{indent}import {name}")
    for key in sorted(by_module, key=_place):
        module = key.partition(" ")[0]
        names = ", ".join(sorted(by_module[key], key=_kind))
        sections.setdefault(_section(module), []).append(f"{indent}from {module} import {names}")
    text = "\n\n".join("\n".join(sections[section]) for section in sorted(sections))
    return f"{text}\n" + "\n" * block.endswith("\n\n")


def _section(module: str) -> int:
    top = module.partition(".")[0]
    if top == "__future__":
        return 0
    if not top:
        return 3
    return 1 if top in sys.stdlib_module_names else 2


def _place(key: str) -> tuple[int, str, str]:
    module, _, name = key.partition(" ")
    dots = len(module) - len(module.lstrip("."))
    return (-dots, module, name)


def _kind(name: str) -> tuple[int, str, str]:
    """Return the sort key of a name: constants first, then classes, then all others."""
    kind = 0 if name.isupper() and name[1:] else 1 if name[:1].isupper() else 2
    return (kind, name.lower(), name)
