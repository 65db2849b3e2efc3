"""The contract of a target: a kind of generated types and tables without our runtime.

Code with another runtime uses only types and tables, as a target generates them: plain Pydantic
models, or those of another library or language. Targets are found by entry point, so other packages
can add some; see docs/targets.md.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, get_args

if TYPE_CHECKING:
    from mcp_protogen.pipeline.ir import RevisionIR

CONTRACT: Final = 2
"""The version of this contract and of the IR. It rises when targets must change."""

GROUP: Final = "mcp_protogen.targets"
"""The group of entry points; each is an instance of a `Target` under its name."""

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
    """The layers of generated code, and its target with options.

    With the layout "single", a revision is one module; with "package", a package with a module for
    each layer. `base_class` is that of all classes, as "package.module:Class". `extra` is the
    handling of undeclared members in types that the specification does not leave open. With
    `root_models`, aliases are classes around a value. With `inline_objects`, objects without a name
    in the published types stay inline. `types_only` leaves out everything that these lack. `quotes`
    are those around strings.
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
    def changed_settings(self) -> frozenset[Setting]:
        """The settings with another value than their default."""
        return frozenset(name for name in get_args(Setting) if getattr(self, name))


class TargetFile(NamedTuple):
    """One generated file: a POSIX path relative to the output folder, and its text.

    The generator checks and formats Python modules; other texts stay unchanged.
    """

    path: str
    text: str


class Target(Protocol):
    """A kind of generated code: a pure function from revisions to files."""

    @property
    def contract(self) -> int:
        """The version of its contract."""
        ...

    @property
    def settings(self) -> frozenset[Setting]:
        """The settings that it supports; others are refused before the call."""
        ...

    def files(
        self, revisions: Sequence["RevisionIR"], options: TargetOptions
    ) -> Iterable[TargetFile]:
        """Yield all files; raise `ProblemError` for anything that this target cannot express."""
        ...
