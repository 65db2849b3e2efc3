"""From IR to modules: the files of a package, and the template of each."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_protogen import __version__
from mcp_protogen.base import names
from mcp_protogen.base.problems import raise_errors
from mcp_protogen.emit import formatting, verify, views
from mcp_protogen.emit.models import ModelsSource
from mcp_protogen.emit.render import Renderer
from mcp_protogen.ir import ROLES, RevisionIR
from mcp_protogen.package import RUNTIME_FOLDER, GeneratedFile
from mcp_protogen.parts import INSTANCES, OF_REVISIONS, Selection, missing_names
from mcp_protogen.plans.tables import PairTables

# Module of a revision's folder → template; the models are not among them.
MODULES: Mapping[str, str] = {
    "__init__": "revision.py.jinja",
    "app": "app.py.jinja",
    "capabilities": "capabilities.py.jinja",
    "client": "client.py.jinja",
    "methods": "methods.py.jinja",
    "server": "server.py.jinja",
}
APPS_TEMPLATE = "apps.py.jinja"
BRIDGE_TEMPLATE = "bridge.py.jinja"
MODELS_TEMPLATE = "models.py.jinja"
ALL_MODELS_TEMPLATE = "all_models.py.jinja"
TRANSLATION_TEMPLATE = "translation.py.jinja"
TRANSLATIONS_TEMPLATE = "translate.py.jinja"
ADAPTERS_TEMPLATE = "adapters.py.jinja"
PACKAGE_TEMPLATE = "package.py.jinja"


@dataclass(frozen=True, slots=True)
class Module:
    """A rendered, verified and formatted module."""

    path: str
    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class ListedRevision:
    """A revision as the package's `__init__` lists it."""

    id: str
    era: names.Era
    module: names.ModuleName


def models_modules(
    ir: RevisionIR, sources: Collection[ModelsSource], renderer: Renderer
) -> Iterator[Module]:
    """Yield the modules of a revision's models, verified against its IR, and their package."""
    modules = {name: models.name for models in sources for name in models.exported}
    context = {**views.revision_context(ir), "modules": dict(sorted(modules.items()))}
    yield _rendered(f"{models_folder(ir)}/__init__.py", ALL_MODELS_TEMPLATE, context, renderer)
    for models in sources:
        path = f"{models_folder(ir)}/{models.name}.py"
        source = renderer.render(
            MODELS_TEMPLATE, {**context, "models": models, "exported": models.exported}
        )
        tree = formatting.parsed(source, path, MODELS_TEMPLATE)
        raise_errors(verify.models(tree, models.types, path))
        yield _module(path, MODELS_TEMPLATE, source, tree, renderer)


def models_folder(ir: RevisionIR) -> str:
    """Return the path of the models of a revision in its package."""
    return f"{ir.module}/models"


def revision_modules(ir: RevisionIR, selection: Selection, renderer: Renderer) -> Iterator[Module]:
    """Yield the other modules of a revision, proven against its types and each other."""
    context = {
        **views.revision_context(ir),
        "runtime": renderer.runtime_in(f"{ir.module}/__init__.py"),
        "roles": [role for role in ROLES if role in selection.modules],
        "stubs": [module for module in ("app", *ROLES) if module in selection.modules],
        "missing": missing_names(selection),
    }
    sources = {
        module: renderer.render(template, context)
        for module, template in MODULES.items()
        if module in {"__init__", *selection.modules}
    }
    trees: dict[str, ast.Module] = {}
    for module, source in sources.items():
        path, template = f"{ir.module}/{module}.py", MODULES[module]
        trees[module] = formatting.parsed(source, path, template)
        yield _module(path, template, source, trees[module], renderer)
    raise_errors(verify.members(trees, {type_.name for type_ in ir.types}, ir.module))


def shared_modules(
    pairs: Iterable[PairTables], selection: Selection, renderer: Renderer
) -> Iterator[Module]:
    """Yield the tables of each pair of revisions, their package, and the bridge."""
    client = "client" in selection.modules
    for module, path, template in (
        ("bridge", "bridge.py", BRIDGE_TEMPLATE),
        ("translate", "translate/__init__.py", TRANSLATIONS_TEMPLATE),
        ("translate.adapters", "translate/adapters.py", ADAPTERS_TEMPLATE),
    ):
        if module in selection.modules:
            context = {"client": client, "runtime": renderer.runtime_in(path)}
            yield _rendered(path, template, context, renderer)
    for pair in pairs:
        path = f"translate/{pair.older.module}__{pair.newer.module}.py"
        context = views.pair_context(pair, renderer.runtime_in(path))
        yield _rendered(path, TRANSLATION_TEMPLATE, {"pair": pair, **context}, renderer)


def package_modules(
    revisions: tuple[ListedRevision, ...], selection: Selection, renderer: Renderer
) -> Iterator[Module]:
    """Yield the `__init__` of the package, which lists its revisions, and what these import."""
    modules = [str(revision.module) for revision in revisions]
    exports = [name for _, names in selection.exports for name in names]
    own = {"bridge": "Bridge", "translate": "translate"}
    there = [name for module, name in own.items() if module in selection.modules]
    instances = {name: of for name, of in INSTANCES.items() if of in exports}
    runtime = renderer.runtime_in("__init__.py")
    context: Mapping[str, Any] = {
        "revisions": revisions,
        "runtime": runtime,
        "copied": runtime.startswith("."),
        "made_for": __version__,
        "runtime_exports": selection.exports,
        "package_exported": sorted(["REVISIONS", "load", *there, *exports, *instances]) + modules,
        "instances": instances,
        "missing": {n: how for n, how in missing_names(selection).items() if n not in OF_REVISIONS},
    }
    yield _rendered("__init__.py", PACKAGE_TEMPLATE, context, renderer)
    if "app" in selection.modules:
        has = {part.replace("-", "_"): part in selection.parts for part in ("http-server", "stdio")}
        yield _rendered("app.py", APPS_TEMPLATE, {"runtime": runtime, **has}, renderer)


def fixed_files(
    runtime: Path, copied: Iterable[Path], selection: Selection
) -> Iterator[GeneratedFile]:
    """Yield the files that are the same in every package of the same parts.

    These are the typing marker, and the files of the runtime, byte for byte.
    """
    yield GeneratedFile("py.typed", b"", "mcp-gen")
    for path in copied:
        relative = path.relative_to(runtime)
        module = ".".join(relative.with_suffix("").parts).removesuffix("__init__").rstrip(".")
        # What is no module says under which terms the copy is.
        if path.suffix != ".py" or selection.has_runtime(module):
            name = f"{RUNTIME_FOLDER}/{relative.as_posix()}"
            yield GeneratedFile(name, path.read_bytes(), "runtime")


def _rendered(path: str, template: str, context: Mapping[str, Any], renderer: Renderer) -> Module:
    source = renderer.render(template, context)
    return _module(path, template, source, formatting.parsed(source, path, template), renderer)


def _module(path: str, template: str, source: str, tree: ast.Module, renderer: Renderer) -> Module:
    raise_errors(verify.module(tree, path))
    text = formatting.formatted(source, ours=not renderer.overridden)
    return Module(path, f"template {template}", text)
