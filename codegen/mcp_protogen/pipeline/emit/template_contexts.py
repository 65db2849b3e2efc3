"""The variables of templates, as types: a class for each kind of module.

They are public: `template_contract` has the version and its rule, docs/templates.md all members.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from mcp_protogen.base.names import Era, ModuleName, StubName
from mcp_protogen.pipeline.emit.models import ModelsSource
from mcp_protogen.pipeline.extension_ir import ExtensionIR
from mcp_protogen.pipeline.ir import MethodIR, RevisionIR, Role
from mcp_protogen.pipeline.plans.tables import PairTables


@dataclass(frozen=True, slots=True)
class Call:
    """A coroutine that sends a message: its name, its parameters, and the params that it makes.

    `given` is the condition for params; empty if they are always sent. A call that is made `once`
    may have any answer. The result of a tool can be read as a type of the caller. A call with a
    form for the user may take a type. `doc` is its docstring.
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
class ListedVersionStep:
    """The folder of another version of an extension, and the tables to it and back.

    `tables` is the folder of the later one of both, whose module `translation` has them.
    """

    other: ModuleName
    tables: ModuleName
    outward: str
    inward: str


@dataclass(frozen=True, slots=True)
class TranslationTable:
    """The table of one direction as Python: its plans, its other members, and its docstring."""

    plans: str
    direction: str
    doc: str


class Messages(TypedDict):
    """The messages of a revision, or of an extension of it."""

    ir: RevisionIR
    """The revision; for an extension, only its additions."""
    methods: tuple[MethodIR, ...]
    """All methods, in the order in which they are printed."""
    calls: Mapping[str, tuple[Call, ...]]
    """The calls of each method, the usual one first; empty if it takes params as a whole."""
    client_calls: list[MethodIR]
    """The methods that a client sends, except those that the runtime sends for it."""
    client_imports: dict[str, list[str]]
    """The imports of their stubs, by module: `typing`, `collections.abc`, or one of the runtime."""
    server_sends: list[MethodIR]
    """The methods that a server sends, including questions inside results."""
    server_asks: bool
    """Whether a server sends more than notifications."""
    server_imports: dict[str, list[str]]
    """The imports of their stubs, by module."""
    server_handles: list[MethodIR]
    """The methods that a server handles, except those that the runtime answers for it."""
    server_publishes: dict[str, str]
    """Notifications of changed lists, by the names of the stubs that publish them."""
    has_conditions: bool
    """Whether a method needs a capability only under a condition."""
    capabilities_exported: list[str]
    """The public names of the module `capabilities`, sorted."""
    methods_exported: list[str]
    """The public names of the module `methods`, sorted."""


class RevisionMessages(Messages):
    """The messages of a revision, and the types in which the two sides describe themselves."""

    client_capabilities: str
    """The annotation of the capabilities of a client; `WireModel` where a schema has no type."""
    server_capabilities: str
    """The same for a server."""
    implementation: str
    """The annotation of the name and version of a side; `WireModel` likewise."""
    server_asks_in_results: bool
    """Whether a server asks a client inside its results."""


class ClientBaseContext(TypedDict):
    """Variables about the base of a client."""

    client_base: str
    """The base of the client, with arguments in brackets, if any."""
    client_base_module: str
    """The module of the runtime that has that class."""
    client_lacks: str
    """A sentence about the client's base with a further part of the package; or empty."""


class ServerBaseContext(TypedDict):
    """Variables about the base of an extension's server."""

    server_base: str
    """The base of the server, with arguments in brackets."""
    server_base_module: str
    """The module of the runtime that has that class."""
    server_lacks: str
    """A sentence about the server's base with a further part of the package; or empty."""


class RevisionContext(RevisionMessages, ClientBaseContext):
    """Variables of each module of a revision, except its models."""

    runtime: str
    """The import path of the runtime, for modules of the folder."""
    roles: list[Role]
    """The sides for which the package has stubs."""
    stubs: list[str]
    """The modules with stubs: some of `app`, `client` and `server`."""
    extensions: list[str]
    """The modules of its extensions, sorted."""
    missing: Mapping[str, str]
    """How to generate each public name that this package lacks."""


class ExtensionMessages(Messages):
    """The messages of an extension, and the names of its classes."""

    extension: ExtensionIR
    """The extension: its identifier, claims, members, settings and documents."""
    class_name: str
    """The prefix of the names of its classes."""
    role_classes: Mapping[Role, list[str]]
    """The classes of each side that the extension binds."""
    server_answers: bool
    """Whether a server handles more than notifications."""
    exported: list[str]
    """The public names of its package, sorted, without stubs."""
    uses_models: bool
    """Whether its module `methods` names models."""


class ExtensionContext(ExtensionMessages, ClientBaseContext, ServerBaseContext):
    """Variables of each module of an extension, except its models."""

    runtime: str
    """The import path of the runtime, for modules of the folder."""
    roles: list[Role]
    """The sides that the extension binds and for which the package has stubs."""
    items: str
    """The module of the runtime that makes items of toolkits for it; or empty."""
    table: bool
    """Whether it needs the table for several versions of an extension."""
    translates: bool
    """Whether that table has to translate between versions."""
    steps: list[ListedVersionStep]
    """The other versions into which rules translate it."""


class ModelsPackageContext(TypedDict):
    """Variables of the package of a revision's models."""

    ir: RevisionIR
    """The revision."""
    modules: Mapping[str, str]
    """The module of each type, by its name."""


class ExtensionModelsContext(ModelsPackageContext):
    """Variables of the package of an extension's models."""

    extension: ExtensionIR
    """The extension."""
    core_modules: Mapping[str, list[str]]
    """The types of the revision in its methods, by their module of models."""


class ModelsContext(TypedDict):
    """Variables of a module of models."""

    subject: str
    """The subject of the models: `MCP 2025-11-25`, or the identifier of an extension."""
    models: ModelsSource
    """The module: its subject, its imports, and its definitions as Python."""
    exported: list[str]
    """The names of its types, sorted."""


class ExtensionsContext(TypedDict):
    """Variables of the package of all extensions of a revision."""

    revision: str
    """The name of the revision."""


class SharedContext(TypedDict):
    """Variables of modules that all revisions share."""

    runtime: str
    """The import path of the runtime."""
    client: bool
    """Whether the package has clients."""
    tasks: bool
    """Whether it has tasks."""
    toolkit: bool
    """Whether it has servers of decorated functions."""


class TranslationContext(TypedDict):
    """Variables of the tables of a pair of revisions."""

    pair: PairTables
    """The two revisions, `older` and `newer`, and the tables as values."""
    subject: str
    """What they are of: `MCP`, or an extension with two versions."""
    imports: str
    """The import of the classes that the tables need."""
    tables: list[TranslationTable]
    """The tables of both directions, up first."""


class AppsContext(TypedDict):
    """Variables of the base of all apps."""

    runtime: str
    """The import path of the runtime."""
    http_server: bool
    """Whether the package has the part `http-server`."""
    stdio: bool
    """Whether the package has the part `stdio`."""
    served: Mapping[str, Mapping[str, str]]
    """The functions that serve standard input and output (`program`) or a `url`, by transport."""


class PackageContext(TypedDict):
    """Variables of the package itself."""

    revisions: tuple[ListedRevision, ...]
    """The revisions of the package, oldest first."""
    runtime: str
    """The import path of the runtime."""
    copied: bool
    """Whether the package has a copy of the runtime."""
    made_for: str
    """The version of `mcp-gen`, which an installed runtime must support."""
    runtime_exports: tuple[tuple[str, tuple[str, ...]], ...]
    """The exported names of the runtime, by module."""
    package_exported: list[str]
    """The public names of the package."""
    instances: Mapping[str, str]
    """The instances for this package, each with its class in the runtime."""
    parts: Mapping[str, str]
    """The packages of optional modules that the runtime asks for, by their places."""
    transports: Mapping[str, Mapping[str, str]]
    """The functions that open connections to a `program` or a `url`, by names of transports."""
    missing: Mapping[str, str]
    """How to generate each public name that this package lacks."""
