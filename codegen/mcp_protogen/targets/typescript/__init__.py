"""TypeScript: types, tables, and a validator that reads them, without dependencies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.ir import Ref, RevisionIR
from mcp_protogen.pipeline.target import CONTRACT, Layer, Layout, Setting, TargetFile, TargetOptions
from mcp_protogen.targets.results import with_result_unions
from mcp_protogen.targets.typescript import typescript_tables as tables
from mcp_protogen.targets.typescript.text import (
    comment,
    data,
    literal,
    property_name,
    single_quoted,
)
from mcp_protogen.targets.typescript.types import Inline, definition, hint

_OWN_NAMES = frozenset(
    {"EmbeddedRequests", "Methods", "ParamsOf", "ResultOf", "Types"}
    | {f"{role}{kind}" for role in ("Client", "Server") for kind in ("Requests", "Notifications")}
    | {"CAPABILITIES", "ERA", "ERRORS", "META_KEYS", "METHODS", "REQUIREMENTS", "REVISION", "TYPES"}
)
"""Names in modules beside the types of the schema; one index may export all of them."""
_WIRE: Mapping[Layout, str] = {"single": "./wire.js", "package": "../wire.js"}


class TypeScriptTarget:
    """The target `typescript`."""

    contract = CONTRACT
    settings: frozenset[Setting] = frozenset({"inline_objects", "quotes", "types_only"})
    file_names = True

    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions, and the validator that they share."""
        if not options.types_only:
            revisions = [with_result_unions(ir) for ir in revisions]
        raise_errors(tuple(problem for ir in revisions for problem in _collisions(ir, options)))
        for file in _files(revisions, options):
            text = single_quoted(file.text) if options.quotes == "single" else file.text
            yield file._replace(text=text)


TARGET = TypeScriptTarget()


def _files(revisions: Sequence[RevisionIR], options: TargetOptions) -> Iterator[TargetFile]:
    if not _are_types_alone(options.layers, options):
        yield TargetFile("wire.ts", _render("wire.ts", {}))
    for ir in revisions:
        yield from _revision_files(ir, options)
    if options.layout == "package":
        exports = [
            f"as {_namespace(ir)} from {literal(f'./{ir.module}/index.js')}" for ir in revisions
        ]
        title = "Types of the Model Context Protocol, by revision"
        yield TargetFile("index.ts", _index(title, exports))


def _namespace(ir: RevisionIR) -> str:
    """Return the identifier of a revision in the index; its folder may have another name."""
    return ir.module if ir.module.isidentifier() else module_name(ir.id)


def _are_types_alone(layers: Sequence[Layer], options: TargetOptions) -> bool:
    """Return whether modules with these layers need no validator and no types of tables."""
    return options.types_only and layers == ("models",)


def _collisions(ir: RevisionIR, options: TargetOptions) -> Iterator[Problem]:
    if options.layout == "single" and ir.module == "wire":
        message = f"the module {ir.module} of {ir.id} has the name of the validator's module"
        yield Problem("name-collision", message, hint="name it differently, with --names")
    for name in sorted({str(type_.name) for type_ in ir.types} & _OWN_NAMES):
        message = f"the type {name} of {ir.id} has the name of another type of its module"
        yield Problem("name-collision", message, hint="name it differently, with --names")


def _revision_files(ir: RevisionIR, options: TargetOptions) -> Iterator[TargetFile]:
    if options.layout == "single":
        yield TargetFile(f"{ir.module}.ts", _module(ir, options.layers, options))
        return
    for layer in options.layers:
        yield TargetFile(f"{ir.module}/{layer}.ts", _module(ir, (layer,), options))
    exports = [f"from {literal(f'./{layer}.js')}" for layer in options.layers]
    yield TargetFile(f"{ir.module}/index.ts", _index(f"MCP {ir.id}", exports))


def _module(ir: RevisionIR, layers: Sequence[Layer], options: TargetOptions) -> str:
    """Return a module with some layers, which may import the types from another module."""
    inline = {str(type_.name): type_ for type_ in ir.types if type_.inline}
    chosen: Inline = inline if options.inline_objects else None
    imports_types = "models" in options.layers and layers == ("methods",) and not options.types_only
    has_types = "models" in layers and not options.types_only
    place_of_constants = "models" if "models" in options.layers else "methods"
    context = {
        "ir": ir,
        "layers": layers,
        "wire": None if _are_types_alone(layers, options) else _WIRE[options.layout],
        "definitions": [
            definition(type_, chosen)
            for type_ in ir.types
            if not chosen or type_.name not in chosen
        ],
        "type_of": {type_.name: hint(Ref(type_.name), chosen, 2) for type_ in ir.types},
        "constants": tables.constants(ir) if place_of_constants in layers else (),
        "has_types": has_types,
        "imports_types": imports_types,
        "typed": has_types or imports_types,
    }
    return _render("module.ts.jinja", context)


def _index(title: str, exports: Sequence[str]) -> str:
    return _render("index.ts.jinja", {"title": title, "exports": exports})


def _render(template: str, context: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(context)


def _entry(entry: tables.TableEntry) -> str:
    name = property_name(entry.name)
    return f"{name}: {data(entry.value, 2, len(name) + 2)}"


_FILTERS: Mapping[str, Callable[..., Any]] = {
    "capabilities": tables.capabilities,
    "comment": comment,
    "entry": _entry,
    "errors": tables.errors,
    "literal": literal,
    "meta_keys": tables.meta_keys,
    "methods": tables.methods,
    "requirements": tables.requirements,
    "types": tables.types,
}


@cache
def _environment() -> Environment:
    from mcp_protogen.pipeline.emit.sandbox import sandbox

    return sandbox(templates_folder() / "targets" / "typescript", _FILTERS)
