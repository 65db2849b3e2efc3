"""The modules of the generator and the runtime as trees, their imports, and the map of them."""

import ast
import gc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from support.folders import ROOT

CODE: Final = ROOT / "codegen" / "mcp_protogen"
RUNTIME: Final = CODE / "runtime"
MODULES: Final = sorted((ROOT / "codegen").rglob("*.py"))


@cache
def trees() -> dict[Path, ast.Module]:
    gc.disable()  # it would look through all trees for each new one
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
    finally:
        gc.enable()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(trees()[path]))


def module_label(path: Path) -> str:
    return path.relative_to(ROOT / "codegen").as_posix()


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "codegen").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


OURS: Final = {module_name(path): path for path in MODULES}


@cache
def imports_of(module: str) -> frozenset[str]:
    return frozenset(_find_imports(module))


def _find_imports(module: str) -> Iterator[str]:
    path = OURS[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in OURS)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names:
                imported = f"{start}.{alias.name}"
                yield from (
                    module_name
                    for module_name in (imported if imported in OURS else start,)
                    if module_name in OURS
                )


def map_of_the_house() -> dict[str, list[str]]:
    """Return the lists of CONTRIBUTING.md and of its page on architecture, by folder."""
    pages = ROOT / "CONTRIBUTING.md", ROOT / "docs" / "contributing" / "architecture.md"
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    lists = re.findall(r"`codegen/([\w/]+)`:\n\n((?: {4}\w+ .*\n)+)", text)
    return {
        folder.replace("/", "."): [line.split()[0] for line in lines.splitlines()]
        for folder, lines in lists
    }


def modules_in(folder: Path) -> set[str]:
    # Git leaves an empty folder behind when a package is gone.
    packages = {path.parent.name for path in folder.glob("*/*.py")}
    return packages | {path.stem for path in folder.glob("*.py")}
