"""The files of a package, from IR, and the template of each."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen import __version__
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.emit import formatting, verify, views
from mcp_protogen.pipeline.emit import template_contract as templates
from mcp_protogen.pipeline.emit.models import ModelsSource
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.emit.template_contexts import (
    AppsContext,
    ClientBaseContext,
    ExtensionContext,
    ExtensionModelsContext,
    ExtensionsContext,
    ListedRevision,
    ListedVersionStep,
    ModelsContext,
    ModelsPackageContext,
    PackageContext,
    RevisionContext,
    ServerBaseContext,
    SharedContext,
)
from mcp_protogen.pipeline.emit.template_contract import Context, Template
from mcp_protogen.pipeline.extension_ir import ExtensionIR
from mcp_protogen.pipeline.ir import ROLES, RevisionIR, TypeIR
from mcp_protogen.pipeline.package import RUNTIME_FOLDER, GeneratedFile
from mcp_protogen.pipeline.parts import (
    CLIENTS_OF_EXTENSIONS,
    INSTANCES,
    ITEMS_OF_EXTENSIONS,
    OF_REVISIONS,
    SERVERS_OF_EXTENSIONS,
    PartSelection,
    RuntimeClass,
    missing_names,
)
from mcp_protogen.pipeline.plans.tables import PairTables
from mcp_protogen.pipeline.plans.version_tables import VersionTables
from mcp_protogen.pipeline.target import TargetFile

_PATH_PART = re.compile(r"(?!\.)[A-Za-z0-9_.-]+(?<!\.)")

# Templates of the modules of a revision, except its models.
MODULES: Mapping[str, Template[RevisionContext]] = {
    "__init__": templates.REVISION,
    "app": templates.APP,
    "capabilities": templates.CAPABILITIES,
    "client": templates.CLIENT,
    "methods": templates.METHODS,
    "server": templates.SERVER,
}
# The same for an extension.
EXTENSION_MODULES: Mapping[str, Template[ExtensionContext]] = {
    "__init__": templates.EXTENSION,
    "capabilities": templates.EXTENSION_CAPABILITIES,
    "client": templates.EXTENSION_CLIENT,
    "methods": templates.EXTENSION_METHODS,
    "server": templates.EXTENSION_SERVER,
}


@dataclass(frozen=True, slots=True)
class Module:
    """A rendered, verified and formatted module."""

    path: str
    origin: str
    text: str


def models_modules(
    ir: RevisionIR, sources: Collection[ModelsSource], renderer: Renderer
) -> Iterator[Module]:
    """Yield the modules of a revision's models, checked against its IR, and their package."""
    context: ModelsPackageContext = {"ir": ir, "modules": _modules_of(sources)}
    path = f"{models_folder(ir)}/__init__.py"
    yield _render_module(path, templates.ALL_MODELS, context, renderer)
    yield from _models_modules(models_folder(ir), sources, f"MCP {ir.id}", renderer)


def extension_models_modules(
    extension: ExtensionIR,
    sources: Collection[ModelsSource],
    core: Mapping[str, tuple[TypeIR, ...]],
    renderer: Renderer,
) -> Iterator[Module]:
    """Yield the modules of an extension's models, and their package.

    The package also exports the types of the revision in the extension's methods; `core` has their
    modules.
    """
    context: ExtensionModelsContext = {
        "ir": extension.ir,
        "modules": _modules_of(sources),
        "extension": extension,
        "core_modules": views.core_modules(extension, core),
    }
    folder = f"{extension_folder(extension)}/models"
    yield _render_module(f"{folder}/__init__.py", templates.EXTENSION_MODELS, context, renderer)
    yield from _models_modules(folder, sources, extension.identifier, renderer)


def _modules_of(sources: Iterable[ModelsSource]) -> Mapping[str, str]:
    modules = {name: models.name for models in sources for name in models.exported}
    return dict(sorted(modules.items()))


def _models_modules(
    folder: str, sources: Iterable[ModelsSource], subject: str, renderer: Renderer
) -> Iterator[Module]:
    for models in sources:
        path = f"{folder}/{models.name}.py"
        context: ModelsContext = {"subject": subject, "models": models, "exported": models.exported}
        template = templates.MODELS
        source = renderer.render(template.name, context)
        tree = formatting.parse_module(source, path, template.name)
        raise_errors(verify.models(tree, models.types, path))
        yield _module(path, template.name, source, tree, renderer)


def models_folder(ir: RevisionIR) -> str:
    """Return the path of the models of a revision in its package."""
    return f"{ir.module}/models"


def extension_folder(extension: ExtensionIR) -> str:
    """Return the path of an extension in its package."""
    return f"{extension.ir.module}/ext/{extension.module}"


def revision_modules(
    ir: RevisionIR, extensions: list[str], selection: PartSelection, renderer: Renderer
) -> Iterator[Module]:
    """Yield the other modules of a revision, checked against its types and each other.

    `extensions` are the modules of its extensions, sorted.
    """
    context: RevisionContext = {
        **views.revision_messages(ir),
        "runtime": renderer.runtime_in(f"{ir.module}/__init__.py"),
        "roles": [role for role in ROLES if role in selection.modules],
        "stubs": [module for module in ("app", *ROLES) if module in selection.modules],
        "extensions": extensions,
        "missing": missing_names(selection),
        **_client_base(ir.absorbs, selection),
    }
    sources = {
        module: renderer.render(template.name, context)
        for module, template in MODULES.items()
        if module in {"__init__", *selection.modules}
    }
    trees: dict[str, ast.Module] = {}
    for module, source in sources.items():
        path, template = f"{ir.module}/{module}.py", MODULES[module].name
        trees[module] = formatting.parse_module(source, path, template)
        yield _module(path, template, source, trees[module], renderer)
    raise_errors(verify.members(trees, {type_.name for type_ in ir.types}, ir.module))


def extension_modules(
    extension: ExtensionIR,
    steps: Iterable[VersionTables],
    selection: PartSelection,
    renderer: Renderer,
) -> Iterator[Module]:
    """Yield the other modules of an extension, checked against the types that it may name.

    `steps` are those between versions of extensions of the revision.
    """
    folder, has_app = extension_folder(extension), "app" in selection.modules
    steps = steps if {*ROLES} & selection.modules else ()
    context: ExtensionContext = {
        **views.extension_messages(extension),
        "runtime": renderer.runtime_in(f"{folder}/__init__.py"),
        "roles": [role for role in ROLES if role in selection.modules and role in extension.roles],
        **_client_base([extension.identifier], selection),
        **_server_base(extension.identifier, selection),
        "items": ITEMS_OF_EXTENSIONS.get(extension.identifier, "") if has_app else "",
        "table": extension.version is not None and bool({*ROLES} & selection.modules),
        "translates": bool(steps),
        "steps": [*_steps_from(extension, steps)],
    }
    for step in steps:
        if step.newer.name == extension.name:
            path = f"{folder}/translation.py"
            subject = f"the extension {extension.identifier}:"
            tables = views.pair_context(step.tables, renderer.runtime_in(path), subject)
            yield _render_module(path, templates.TRANSLATION, tables, renderer)
    modules = {"__init__", "capabilities", "methods", *context["roles"]}
    trees: dict[str, ast.Module] = {}
    for module, template in EXTENSION_MODULES.items():
        if module in modules:
            path = f"{folder}/{module}.py"
            source = renderer.render(template.name, context)
            trees[module] = formatting.parse_module(source, path, template.name)
            yield _module(path, template.name, source, trees[module], renderer)
    types = {type_.name for type_ in (*extension.ir.types, *extension.core.types)}
    raise_errors(verify.members(trees, types, folder))


def _steps_from(
    extension: ExtensionIR, steps: Iterable[VersionTables]
) -> Iterator[ListedVersionStep]:
    for step in steps:
        module = step.newer.module
        if step.older.name == extension.name:
            yield ListedVersionStep(module, module, "UP", "DOWN")
        elif step.newer.name == extension.name:
            yield ListedVersionStep(step.older.module, module, "DOWN", "UP")


def _client_base(identifiers: Iterable[str], selection: PartSelection) -> ClientBaseContext:
    """Return the base of a client with extensions, and a sentence about a missing part."""
    usual = RuntimeClass("", "client.base", "ClientBase")
    special = (CLIENTS_OF_EXTENSIONS.get(identifier) for identifier in identifiers)
    base, lacks = _present(next(filter(None, special), usual), usual, selection)
    return {"client_base": base.name, "client_base_module": base.module, "client_lacks": lacks}


def _server_base(identifier: str, selection: PartSelection) -> ServerBaseContext:
    """Return the base of an extension's server, and a sentence about a missing part."""
    usual = RuntimeClass("", "server.base", "ServerBase[Session]")
    special = SERVERS_OF_EXTENSIONS.get(identifier, usual)
    base, lacks = _present(special, usual, selection)
    return {"server_base": base.name, "server_base_module": base.module, "server_lacks": lacks}


def _present(
    base: RuntimeClass, usual: RuntimeClass, selection: PartSelection
) -> tuple[RuntimeClass, str]:
    """Return a base, or else the usual one with a sentence about the part that is missing."""
    if not base.part or base.part in selection.parts:
        return base, ""
    name = base.name.partition("[")[0]
    return usual, f"In a package with `--with {base.part}` it is also a `{name}`."


def extensions_module(ir: RevisionIR, renderer: Renderer) -> Module:
    """Return the package of all extensions of one revision."""
    context: ExtensionsContext = {"revision": ir.id}
    return _render_module(f"{ir.module}/ext/__init__.py", templates.EXTENSIONS, context, renderer)


def shared_modules(
    pairs: Iterable[PairTables], selection: PartSelection, renderer: Renderer
) -> Iterator[Module]:
    """Yield the tables of each step between revisions, their package, and the bridge."""
    client = "client" in selection.modules
    for module, path, template in (
        ("bridge", "bridge.py", templates.BRIDGE),
        ("translate", "translate/__init__.py", templates.TRANSLATIONS),
        ("translate.adapters", "translate/adapters.py", templates.ADAPTERS),
    ):
        if module in selection.modules:
            context: SharedContext = {
                "client": client,
                "tasks": "tasks" in selection.parts,
                "toolkit": "app" in selection.modules,
                "runtime": renderer.runtime_in(path),
            }
            yield _render_module(path, template, context, renderer)
    for pair in pairs:
        path = f"translate/{pair.newer.module}.py"
        tables = views.pair_context(pair, renderer.runtime_in(path))
        yield _render_module(path, templates.TRANSLATION, tables, renderer)


def package_modules(
    revisions: tuple[ListedRevision, ...],
    steps: Iterable[str],
    selection: PartSelection,
    renderer: Renderer,
) -> Iterator[Module]:
    """Yield the package's `__init__`, which lists its revisions, and `app.py`.

    `steps` are the modules of tables between revisions.
    """
    modules = [str(revision.module) for revision in revisions]
    exported = (name for _, names in selection.exports for name in names)
    exports = [name for name in exported if not name.startswith("__")]
    helpers = {"bridge": "Bridge", "translate": "translate"}
    present = [name for module, name in helpers.items() if module in selection.modules]
    instances = {name: of for name, of in INSTANCES.items() if of in exports}
    runtime = renderer.runtime_in("__init__.py")
    context: PackageContext = {
        "revisions": revisions,
        "runtime": runtime,
        "copied": runtime.startswith("."),
        "made_for": __version__,
        "runtime_exports": selection.exports,
        "package_exported": sorted(["REVISIONS", "load", *present, *exports, *instances]) + modules,
        "instances": instances,
        "parts": _parts(steps, selection),
        "transports": selection.opening if selection.modules & {*ROLES} else {},
        "missing": {n: how for n, how in missing_names(selection).items() if n not in OF_REVISIONS},
    }
    yield _render_module("__init__.py", templates.PACKAGE, context, renderer)
    if "app" in selection.modules:
        apps: AppsContext = {
            "runtime": runtime,
            "http_server": "http-server" in selection.parts,
            "stdio": "stdio" in selection.parts and bool(selection.serving["program"]),
            "served": selection.serving,
        }
        yield _render_module("app.py", templates.APPS, apps, renderer)


def _parts(steps: Iterable[str], selection: PartSelection) -> dict[str, str]:
    """Return the packages of the modules that the runtime asks for, by their places."""
    modules = ["adapters"] if "translate.adapters" in selection.modules else []
    if "translate" in selection.modules:
        modules += steps
    return {f"translate.{module}": ".translate" for module in modules}


def fixed_files(
    runtime: Path, copied: Iterable[Path], selection: PartSelection
) -> Iterator[GeneratedFile]:
    """Yield the files that do not depend on revisions: the typing marker and the runtime."""
    yield GeneratedFile("py.typed", b"", "mcp-gen")
    for path in copied:
        relative = path.relative_to(runtime)
        module = ".".join(relative.with_suffix("").parts).removesuffix("__init__").rstrip(".")
        # Files other than modules: the licence and its notice.
        if path.suffix != ".py" or selection.has_runtime(module):
            name = f"{RUNTIME_FOLDER}/{relative.as_posix()}"
            yield GeneratedFile(name, path.read_bytes(), "runtime")


def target_files(files: Iterable[TargetFile], target: str) -> tuple[GeneratedFile, ...]:
    """Return the files of a target, sorted; Python modules are parsed and formatted by black.

    Raise `ProblemError` (`bad-target`) for a path outside the folder, or with two files.
    """
    origin = f"target {target}"
    by_path: dict[str, GeneratedFile] = {}
    for path, text in files:
        parts = path.split("/")
        if path in by_path or not all(map(_PATH_PART.fullmatch, parts)):
            why = "has two files" if path in by_path else "has a file with an invalid path,"
            hint = "repair or update its package"
            message = f"target {target!r} {why} at {path!r:.80}"
            raise ProblemError(Problem("bad-target", message, hint=hint))
        if path.endswith(".py"):
            formatting.parse_module(text, path, origin)
            text = formatting.HEAD + formatting.format_module(text, ours=False)
        by_path[path] = GeneratedFile(path, text.encode(), origin)
    return tuple(by_path[path] for path in sorted(by_path))


def _render_module(
    path: str, template: Template[Context], context: Context, renderer: Renderer
) -> Module:
    name = template.name
    source = renderer.render(name, context)
    return _module(path, name, source, formatting.parse_module(source, path, name), renderer)


def _module(path: str, template: str, source: str, tree: ast.Module, renderer: Renderer) -> Module:
    raise_errors(verify.module(tree, path))
    text = formatting.HEAD + formatting.format_module(source, ours=not renderer.overridden)
    return Module(path, f"template {template}", text)
