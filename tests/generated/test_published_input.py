"""A package made from the published files equals the committed one except for its texts."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path

import black
import pytest
from black.mode import TargetVersion
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.emit.formatting import HEAD
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.parts import PARTS
from support import missing
from support.generated.golden_package import EXTENSIONS, PACKAGE, REVISIONS
from support.generating import write_files

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("published_input")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with only `pkg`, the package made from the available published files."""
    found = missing.reference("published", "what becomes of published files")
    published = {revision: found / f"{revision}.schema.json" for revision in REVISIONS}
    schemas = schemas_given(published)
    files = {
        extension: found / "extensions" / f"{extension}.schema.json" for extension in EXTENSIONS
    }
    extensions = {**EXTENSIONS, **schemas_given(files)}
    options = GenerationOptions(REVISIONS, schemas, parts=tuple(PARTS), extensions=extensions)
    options = options._replace(runtime="mcp_protogen.runtime")
    place = tmp_path_factory.mktemp("published")
    write_files(generate(options).files, place / "pkg")
    return place


def schemas_given(files: Mapping[str, Path]) -> dict[str, GivenFile]:
    """Return the published schemas."""
    return {
        name: GivenFile(file.name, file.read_bytes())
        for name, file in files.items()
        if file.is_file()
    }


def code(path: Path) -> str:
    """Return everything in a module that Python and type checkers see, without docstrings."""
    return ast.dump(_WithoutTexts().visit(ast.parse(path.read_bytes())))


class _WithoutTexts(ast.NodeTransformer):
    """A transformer that removes texts that stand alone, as docstrings do."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if alone else node


def test_package_from_published_input_equals_committed_package(folder: Path) -> None:
    made = {path.relative_to(folder / "pkg"): path for path in (folder / "pkg").rglob("*.py")}
    assert made.keys() == {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    differing = [str(name) for name, path in made.items() if code(path) != code(PACKAGE / name)]
    assert differing == []


def test_black_would_change_nothing(folder: Path) -> None:
    # Modules equal to the committed ones are checked with those.
    found = [(path, path.relative_to(folder / "pkg")) for path in folder.glob("pkg/**/*.py")]
    others = [path for path, at in found if path.read_bytes() != (PACKAGE / at).read_bytes()]
    assert others
    mode = black.Mode(line_length=100, target_versions={TargetVersion.PY311})
    for path in others:
        source = path.read_text(encoding="utf-8").removeprefix(HEAD)
        assert black.format_str(source, mode=mode) == source, path


def test_published_descriptions_are_used(folder: Path) -> None:
    published = json.loads((missing.SHARED / "published" / "2025-11-25.schema.json").read_bytes())
    first = published["$defs"]["Tool"]["description"].split(".")[0]
    assert first in (folder / "pkg" / "v2025_11_25" / "models" / "shared.py").read_text(
        encoding="utf-8"
    )
