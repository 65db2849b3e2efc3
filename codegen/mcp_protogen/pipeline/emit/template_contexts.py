"""What templates get, as types: a class for each kind of module, a member for each variable.

They are public: `template_contract` has the version and its rule, docs/templates.md all members.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from mcp_protogen.base.names import Era, ModuleName, StubName
from mcp_protogen.pipeline.emit.models import ModelsSource
from mcp_protogen.pipeline.ir import ExtensionIR, MethodIR, RevisionIR, Role
from mcp_protogen.pipeline.plans.tables import PairTables


@dataclass(frozen=True, slots=True)
class Call:
    """A coroutine that sends a message: its name, its parameters, and the params that it makes.

    `given` says whether there are any params; empty if there always are. A call that is made `once`
    may have any answer. The result of a tool can be read as a type of the caller. One that asks the
    user by a form may be given a type. `doc` is the text about it.
    """

    name: StubName
    parameters: tuple[str, ...]
    params: str
    given: str
    once: bool
    is_tool_call: bool
    asks_form: bool
    doc: str


@dataclass(frozen=True, slots=True)
class ListedRevision:
    """A revision as the package's `__init__` lists it."""

    id: str
    era: Era
    module: ModuleName


@dataclass(frozen=True, slots=True)
class TranslationTable:
    """The table of one direction as Python: its plans, the rest of it, and its docstring."""

    plans: str
    direction: str
    doc: str


class Messages(TypedDict):
    """The messages of a revision, or of an extension of it."""

    ir: RevisionIR
    """The revision; for an extension, what it adds to it and nothing else."""
    methods: tuple[MethodIR, ...]
    """All methods, in the order in which they are printed."""
    calls: Mapping[str, tuple[Call, ...]]
    """How each message is sent, by method: the usual call first. None takes params as a whole."""
    client_calls: list[MethodIR]
    """The methods that a client sends, without those that the runtime sends for it."""
    client_imports: dict[str, list[str]]
    """The names that these need, by module: of `typing`, `collections.abc`, or of the runtime."""
    server_sends: list[MethodIR]
    """The methods that a server sends, questions inside of results among them."""
    server_asks: bool
    """Whether one of these is more than a notification."""
    server_imports: dict[str, list[str]]
    """The names that these need, by module, likewise."""
    server_handles: list[MethodIR]
    """The methods that a server handles, without those that the runtime answers for it."""
    has_conditions: bool
    """Whether a method needs a capability under a condition only."""
    capabilities_exported: list[str]
    """The public names of the module `capabilities`, sorted."""
    methods_exported: list[str]
    """The public names of the module `methods`, sorted."""


class RevisionMessages(Messages):
    """The messages of a revision, and what the two sides say of themselves."""

    client_capabilities: str
    """The annotation of the capabilities of a client; `WireModel` where a schema has no type."""
    server_capabilities: str
    """The same for a server."""
    implementation: str
    """The annotation of the name and version of a side; `WireModel` likewise."""
    server_asks_in_results: bool
    """Whether a server asks a client inside of its results."""


class RevisionContext(RevisionMessages):
    """What each module of a revision gets, without its models."""

    runtime: str
    """What a module of the folder imports the runtime from."""
    roles: list[Role]
    """The sides for which the package has stubs."""
    stubs: list[str]
    """The modules with stubs: some of `app`, `client` and `server`."""
    extensions: list[str]
    """The modules of its extensions, sorted."""
    missing: Mapping[str, str]
    """What brings each public name that this package is generated without."""


class ExtensionMessages(Messages):
    """The messages of an extension, and the names of its classes."""

    extension: ExtensionIR
    """The extension: its identifier, claims, members, names and settings."""
    class_name: str
    """What the names of its classes begin with."""
    role_classes: Mapping[Role, list[str]]
    """The classes of each side that the extension binds."""
    server_answers: bool
    """Whether a server handles more than notifications."""
    exported: list[str]
    """The public names of its package, sorted, without stubs."""
    uses_models: bool
    """Whether its module `methods` names models."""


class ExtensionContext(ExtensionMessages):
    """What each module of an extension gets, without its models."""

    runtime: str
    """What a module of the folder imports the runtime from."""
    roles: list[Role]
    """The sides that the extension binds and for which the package has stubs."""
    client_base: str
    """The class that its client extends, with arguments in brackets if it has any."""
    client_base_module: str
    """The module of the runtime that has that class."""
    client_lacks: str
    """What the client would be with a further part of the package, as a sentence; or empty."""
    items: str
    """The module of the runtime that makes items of toolkits for it; or empty."""


class ModelsPackageContext(TypedDict):
    """What the package of a revision's models gets."""

    ir: RevisionIR
    """The revision."""
    modules: Mapping[str, str]
    """The module of each type, by its name."""


class ExtensionModelsContext(ModelsPackageContext):
    """What the package of an extension's models gets."""

    extension: ExtensionIR
    """The extension."""
    core_modules: Mapping[str, list[str]]
    """The types of the revision that its methods name, by the module of models that has them."""


class ModelsContext(TypedDict):
    """What a module of models gets."""

    subject: str
    """What the models belong to: `MCP 2025-11-25`, or the identifier of an extension."""
    models: ModelsSource
    """The module: what it is about, its imports, and the definitions, which are ready Python."""
    exported: list[str]
    """The names of its types, sorted."""


class ExtensionsContext(TypedDict):
    """What the package of all extensions of a revision gets."""

    revision: str
    """The name of the revision."""


class SharedContext(TypedDict):
    """What modules that all revisions share get."""

    runtime: str
    """What the module imports the runtime from."""
    client: bool
    """Whether the package has clients."""
    tasks: bool
    """Whether it has tasks."""
    toolkit: bool
    """Whether it has servers of decorated functions."""


class TranslationContext(TypedDict):
    """What the tables of a pair of revisions get."""

    pair: PairTables
    """The two revisions, `older` and `newer`, and the tables as values."""
    imports: str
    """The import of the classes that the tables need."""
    tables: list[TranslationTable]
    """The tables of both directions, up first."""


class AppsContext(TypedDict):
    """What the base of all apps gets."""

    runtime: str
    """What the module imports the runtime from."""
    http_server: bool
    """Whether the package has the part `http-server`."""
    stdio: bool
    """Whether the package has the part `stdio`."""


class PackageContext(TypedDict):
    """What the package itself gets."""

    revisions: tuple[ListedRevision, ...]
    """The revisions of the package, oldest first."""
    runtime: str
    """What the module imports the runtime from."""
    copied: bool
    """Whether the package has a copy of the runtime."""
    made_for: str
    """The version of `mcp-gen`, which an installed runtime has to serve."""
    runtime_exports: tuple[tuple[str, tuple[str, ...]], ...]
    """The names that the package offers of the runtime, by module."""
    package_exported: list[str]
    """The public names of the package."""
    instances: Mapping[str, str]
    """The names that are made for this package, each with what makes it in the runtime."""
    parts: Mapping[str, str]
    """What it imports each module from that not every package has and the runtime asks for."""
    missing: Mapping[str, str]
    """What brings each public name that this package is generated without."""
