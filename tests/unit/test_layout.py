"""The modules of a package, and their origins."""

import ast

import pytest
from mcp_protogen import __version__
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package, RevisionInputs
from support.folders import ROOT
from support.unit import schemas

TERMS = ("LICENSE", "NOTICE")
KEPT = RevisionInputs("draft.json", "0", None, "0", "", "", "")


@pytest.fixture(scope="module")
def package() -> Package:
    return generate(GenerationOptions(("2025-06-18",), kept={"draft": KEPT}))


def test_a_package_has_these_modules(package: Package) -> None:
    own = {
        file.path: file.origin for file in package.files if not file.path.startswith("_runtime/")
    }
    modules = ("__init__", "app", "capabilities", "client", "methods", "server")
    features = ("completion", "elicitation", "prompts", "resources", "roots", "sampling", "tools")
    models = ("__init__", "base", *features, "logging", "messages", "shared", "shared_params")
    results = (f"{module}_results" for module in ("base", *features, "shared"))
    assert set(own) == {
        "__init__.py",
        "app.py",
        "py.typed",
        "translate/__init__.py",
        "translate/adapters.py",
        # The way to the revision that is kept.
        "translate/v2025_11_25.py",
        "translate/v2026_07_28.py",
        *(f"v2025_06_18/{module}.py" for module in modules),
        *(f"v2025_06_18/models/{module}.py" for module in (*models, *results)),
    }
    assert own["v2025_06_18/methods.py"] == "template methods.py.jinja"
    assert own["v2025_06_18/models/tools.py"] == "template models.py.jinja"
    assert own["v2025_06_18/__init__.py"] == "template revision.py.jinja"


def test_the_runtime_is_copied_byte_for_byte(package: Package) -> None:
    copied = {f.path: f.content for f in package.files if f.path.startswith("_runtime/")}
    source = {
        f"_runtime/{path.relative_to(runtime_folder()).as_posix()}": path.read_bytes()
        for path in (*runtime_folder().rglob("*.py"), *map(runtime_folder().joinpath, TERMS))
    }
    assert copied.keys() < source.keys()
    assert copied == {path: source[path] for path in copied}


def test_a_package_says_whose_it_is_and_under_which_terms_its_runtime_is(package: Package) -> None:
    runtime, notice, terms = (
        schemas.text_of(package, f"_runtime/{name}") for name in ("__init__.py", *TERMS[::-1])
    )
    assert "\n# SPDX-License-Identifier: Apache-2.0\n" in runtime
    assert f'\n__version__ = "{__version__}"\n' in runtime
    assert "Apache License, Version 2.0" in notice and "put no terms on it" in notice
    assert terms == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "mcp-gen puts no terms on what it generates" in schemas.text_of(package, "__init__.py")
    spoken = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "What is generated is yours" in spoken and "runtime is under Apache-2.0" in spoken


def test_revisions_that_are_kept_are_listed_and_not_made(package: Package) -> None:
    listing = schemas.text_of(package, "__init__.py")
    assert '"draft"' in listing and "vdraft" in listing
    assert listing.index('"2025-06-18"') < listing.index('"draft"')


def test_every_module_says_what_it_is_and_offers_what_it_has(package: Package) -> None:
    for file in package.files:
        if not file.path.endswith(".py") or file.path.startswith("_runtime/"):
            continue
        tree = ast.parse(file.content)
        assert ast.get_docstring(tree), file.path
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Delete)]
