"""The modules of a target for Python, from the definitions of its types."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment

from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.emit.text import docstring, literal, set_of, tuple_of
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.target import CONTRACT, Layer, Setting, TargetFile, TargetOptions
from mcp_protogen.targets.python import tables
from mcp_protogen.targets.results import with_result_unions

Imports = Mapping[str, frozenset[str]]
"""Names to import, by module; unused ones are left out."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Definitions:
    """The text of the types of a revision, with its imports and exported names.

    With `evaluated`, annotations are evaluated at once, and those of later types are quoted.
    """

    imports: Imports
    text: str
    names: tuple[str, ...] = field(default=())
    evaluated: bool = False


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A target with Python modules; `define` makes the types of a revision."""

    define: Callable[[RevisionIR, TargetOptions], Definitions]
    settings: frozenset[Setting] = frozenset()
    contract: int = CONTRACT

    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions, and the package around them for that layout."""
        for ir in map(with_result_unions, revisions):
            definitions = self.define(ir, options) if "models" in options.layers else None
            yield from _revision_files(ir, options, definitions)
        if options.layout == "package":
            yield TargetFile("__init__.py", render("package.py.jinja", {"revisions": revisions}))
            yield TargetFile("py.typed", "")


def with_base_class(imports: Imports, options: TargetOptions) -> Imports:
    """Return imports with that of the user's base class, if there is one."""
    if options.base_class is None:
        return imports
    module, _, name = options.base_class.partition(":")
    return {**imports, module: imports.get(module, frozenset()) | {name}}


def _revision_files(
    ir: RevisionIR, options: TargetOptions, definitions: Definitions | None
) -> Iterator[TargetFile]:
    if options.layout == "single":
        text = _module(ir, definitions, options.layers, "")
        yield TargetFile(f"{ir.module}.py", text)
        return
    context = {"ir": ir, "layers": options.layers}
    yield TargetFile(f"{ir.module}/__init__.py", render("revision.py.jinja", context))
    for layer in options.layers:
        text = _module(ir, definitions, (layer,), "models.")
        yield TargetFile(f"{ir.module}/{layer}.py", text)


def _module(
    ir: RevisionIR, models: Definitions | None, layers: tuple[Layer, ...], prefix: str
) -> str:
    """Return a module of some layers; it names types with a prefix."""
    models_name = models if "models" in layers else None
    names = [*(models_name.names if models_name else ()), *tables.names(ir, layers)]
    imports: list[Imports] = [models_name.imports] if models_name else []
    imported = [name for group in imports for found in group.values() for name in found]
    raise_errors(_collisions(ir, [*names, *imported]))
    types = tables.as_expressions(prefix) if models else tables.as_strings()
    body = render(
        "module.py.jinja",
        {"models": models_name, "layers": layers, "tables": tables.rows(ir, types)},
    )
    beside = models is not None and models_name is None
    context = {
        "ir": ir,
        "layers": layers,
        "imports": _import_lines([tables.IMPORTS, *imports], body, beside=beside),
        "names": sorted(names),
        "evaluated": models_name is not None and models_name.evaluated,
        "body": body,
    }
    return render("head.py.jinja", context)


def _collisions(ir: RevisionIR, names: Sequence[str]) -> Iterator[Problem]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f"the type {name} has the name of something else in its module"
        hint = "give the type another name with --names, or use --layout package"
        yield Problem("name-collision", message, ir.id, hint=hint)


def _import_lines(offered: Iterable[Imports], body: str, *, beside: bool) -> list[list[str]]:
    """Return the used imports as lines, in groups: first the standard library."""
    used = _words(body)
    found: dict[str, set[str]] = {}
    for imports in offered:
        for module, names in imports.items():
            found.setdefault(module, set()).update(names & used)
    lines = {module: import_line(module, names) for module, names in sorted(found.items()) if names}
    own_lines = ["from . import models"] if beside and "models" in used else []
    of_python = [name for name in lines if name.partition(".")[0] in sys.stdlib_module_names]
    standard = [lines.pop(name) for name in of_python]
    return [group for group in (standard, list(lines.values()), own_lines) if group]


def import_line(module: str, names: Iterable[str]) -> str:
    """Return a line of imports with names in the order of isort."""
    ordered = sorted(names, key=lambda name: (name != name.upper(), name[0].islower(), name))
    return f"from {module} import {', '.join(ordered)}"


def _words(text: str) -> frozenset[str]:
    """Return the names in a module, including those in quoted annotations."""
    words: set[str] = set()
    tree = ast.parse(text)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name):
                words.add(name)
            case ast.Constant(value=str(value)) if id(node) not in docstrings:
                words.update(_WORD.findall(value))
            case _:
                pass
    return frozenset(words)


def render(template: str, context: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    from mcp_protogen.pipeline.emit.sandbox import sandbox

    filters: dict[str, Callable[..., str]] = {"docstring": docstring, "literal": literal}
    filters |= {"set_of": set_of, "tuple_of": tuple_of}
    return sandbox(templates_folder() / "targets", filters)
