"""The contract of a target: a form in which types and tables are generated, beside our package.

The package that `mcp-gen` generates has a runtime. Code with a runtime of its own takes its types
and tables alone, in the form of a target: plain Pydantic models, or another library or language.
Targets are found by entry point, so that anybody can write one; see docs/targets.md.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, get_args

if TYPE_CHECKING:
    from mcp_protogen.pipeline.ir import RevisionIR

CONTRACT: Final = 2
"""The version of this contract and of the IR. It rises when a target has to change."""

GROUP: Final = "mcp_protogen.targets"
"""The group of entry points; each is an instance of a `Target`, and its name is the target's."""

Layer = Literal["models", "methods", "capabilities"]
Layout = Literal["single", "package"]
Extra = Literal["allow", "ignore", "forbid"]
Quotes = Literal["single", "double"]
Setting = Literal["base_class", "extra", "inline_objects", "quotes", "root_models", "types_only"]

LAYERS: Final[tuple[Layer, ...]] = ("models", "methods", "capabilities")
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)
EXTRAS: Final[tuple[Extra, ...]] = get_args(Extra)
QUOTES: Final[tuple[Quotes, ...]] = get_args(Quotes)


class TargetOptions(NamedTuple):
    """What is to be generated, and in which form.

    With the layout "single", a revision is one module; with "package", a package with a module for
    each layer. `base_class` is that of all classes, as "package.module:Class". `extra` says what
    happens to undeclared members of types that the specification does not leave open. With
    `root_models`, aliases are classes around a value. With `inline_objects`, objects that have no
    name in the published types have none. With `types_only`, there is nothing that these lack.
    `quotes` are those around strings.
    """

    target: str = "pydantic"
    layers: tuple[Layer, ...] = ("models",)
    layout: Layout = "single"
    base_class: str | None = None
    extra: Extra | None = None
    root_models: bool = False
    inline_objects: bool = False
    types_only: bool = False
    quotes: Quotes | None = None

    @property
    def said(self) -> frozenset[Setting]:
        """The settings that have another value than their default."""
        return frozenset(name for name in get_args(Setting) if getattr(self, name))


class TargetFile(NamedTuple):
    """One generated file: a POSIX path relative to the output folder, and its text.

    Modules of Python are checked and laid out by the generator; the text of others stays as it is.
    """

    path: str
    text: str


class Target(Protocol):
    """A form of generated code: a pure function from revisions to files."""

    @property
    def contract(self) -> int:
        """The version of the contract that it was written for."""
        ...

    @property
    def settings(self) -> frozenset[Setting]:
        """The settings that it understands; others are refused before it is called."""
        ...

    def files(
        self, revisions: Sequence["RevisionIR"], options: TargetOptions
    ) -> Iterable[TargetFile]:
        """Yield all files; raise `ProblemError` for what cannot be said in this form."""
        ...
