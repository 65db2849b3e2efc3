"""The modules of a target for Python, from the definitions of its types."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment

from mcp_protogen.base.resources import templates_folder
from mcp_protogen.emit.text import docstring, literal, set_of, tuple_of
from mcp_protogen.ir import RevisionIR
from mcp_protogen.target import Layer, TargetFile, TargetOptions

Imports = Mapping[str, frozenset[str]]
"""Names to import, by module."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """The text of the types of a revision: what it imports, defines and exports."""

    imports: Imports
    text: str
    names: tuple[str, ...] = field(default=())


DefineTypes = Callable[[RevisionIR, TargetOptions], Definitions]
"""Returns the definitions of all types of a revision."""


def python_files(
    revisions: Sequence[RevisionIR], options: TargetOptions, define: DefineTypes
) -> Iterator[TargetFile]:
    """Yield the modules of all revisions, and the package around them if there is to be one."""
    for ir in revisions:
        yield from _revision_files(ir, options, define)
    if options.layout == "package":
        yield TargetFile("__init__.py", _render("package.py.jinja", {"revisions": revisions}))
        yield TargetFile("py.typed", "")


def _revision_files(
    ir: RevisionIR, options: TargetOptions, define: DefineTypes
) -> Iterator[TargetFile]:
    definitions = define(ir, options) if "models" in options.layers else None
    context = {"ir": ir, "models": definitions, "layers": options.layers}
    if options.layout == "single":
        yield TargetFile(f"{ir.module}.py", _render("module.py.jinja", context))
        return
    yield TargetFile(f"{ir.module}/__init__.py", _render("revision.py.jinja", context))
    for layer in options.layers:
        one: tuple[Layer, ...] = (layer,)
        text = _render("module.py.jinja", {**context, "layers": one})
        yield TargetFile(f"{ir.module}/{layer}.py", text)


def _render(template: str, context: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    from mcp_protogen.emit.sandbox import sandbox

    environment = sandbox(templates_folder() / "targets", None)
    environment.filters |= {
        "docstring": docstring,
        "literal": literal,
        "set_of": set_of,
        "tuple_of": tuple_of,
    }
    return environment
