"""The contract of a target: a form in which types and tables are generated, beside our package.

The package that `mcp-gen` generates has a runtime. Code with a runtime of its own takes its types
and tables alone, in the form of a target: plain Pydantic models, or another library or language.
Targets are found by entry point, so that anybody can write one; see docs/targets.md.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from mcp_protogen.ir import RevisionIR

CONTRACT: Final = 1
"""The version of this contract and of the IR. It rises when a target has to change."""

GROUP: Final = "mcp_gen.targets"
"""The group of entry points; each is an instance of a `Target`, and its name is the target's."""

Layer = Literal["models", "methods", "capabilities"]
Layout = Literal["single", "package"]
Extra = Literal["allow", "ignore", "forbid"]
Setting = Literal["base_class", "extra", "root_models"]

LAYERS: Final[tuple[Layer, ...]] = ("models", "methods", "capabilities")


class TargetOptions(NamedTuple):
    """What is to be generated, and in which form.

    With the layout "single", a revision is one module; with "package", a package with a module for
    each layer. `base_class` is that of all classes, as "package.module:Class". `extra` says what
    happens to undeclared members of types that the specification does not leave open. With
    `root_models`, aliases are classes around a value.
    """

    target: str = "pydantic"
    layers: tuple[Layer, ...] = ("models",)
    layout: Layout = "single"
    base_class: str | None = None
    extra: Extra | None = None
    root_models: bool = False


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
