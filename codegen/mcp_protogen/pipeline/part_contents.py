"""The contents of a package by its parts, roles, revisions and extensions.

Tests check the table: no module of a package imports a missing one, and the part that brings a
runtime module uses it.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from mcp_protogen.pipeline.ir import TransportIR


ROLES: Final = "roles"
"""A client or a server."""
SEVERAL: Final = "several"
"""More than one revision."""
EXTENDED: Final = "extensions"
"""Any extension."""
DOCUMENTED: Final = "documents"
"""An extension with documents."""
REQUESTED: Final = "requested outputs"
"""A revision whose calls of tools choose outputs."""
GATED: Final = "gated tools"
"""A revision whose tools name the capabilities that they need."""
PARTED: Final = "parts of results"
"""A revision whose results may come in parts."""
RULED: Final = "rules of caches"
"""A revision with rules for the cache of a client."""
CONDITIONAL: Final = "conditional errors"
"""A revision with an error that only some requests get."""
STREAMS: Final = "streams"
"""An extension whose requests have streams, or need an authenticated sender."""
VERSIONED: Final = "versions of an extension"
"""An extension in a revision that tells its versions apart."""
RULED_VERSIONS: Final = "rules between versions"
"""Rules that translate between versions of an extension."""
BY_FACTS: Final = frozenset({REQUESTED, GATED, PARTED, RULED, CONDITIONAL})
"""The conditions that facts of a revision meet."""
EXTENSION: Final = "extension "
"""The extension whose name follows."""
_APPS: Final = f"{EXTENSION}apps"
_CARDS: Final = f"{EXTENSION}server-card"
_ENGINES: Final = {"redis": "RedisEngine", "postgres": "PostgresEngine"}

Exports = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of the package's `__init__`, by their module of the runtime."""


class Contents(NamedTuple):
    """The contents of a package that has everything in `when`.

    `runtime` has modules of the runtime by folder; none stand for the whole folder. `modules` are
    generated ones, such as `server`, which is in the folder of each revision.
    """

    when: frozenset[str]
    runtime: Mapping[str, tuple[str, ...]]
    exports: Exports = ()
    modules: tuple[str, ...] = ()

    @property
    def places(self) -> Iterator[str]:
        """The folders and modules of the runtime, with dots."""
        for folder, modules in self.runtime.items():
            yield from (f"{folder}.{module}" for module in modules)
            if not modules:
                yield folder


def contents_of(transport: "TransportIR") -> Iterator[Contents]:
    """Yield what a transport adds to packages with its part, once for each side."""
    for function, part in ((transport.client, "http-client"), (transport.server, "http-server")):
        module, _, name = function.rpartition(".")
        when = "stdio" if transport.address == "program" else part
        if function:
            yield Contents(frozenset({when}), {module: ()}, ((module, (name,)),))


_ERRORS: Final = (
    *("InvalidParams", "LocalError", "McpError", "MethodNotFound", "MissingCapability"),
    *("ProtocolError", "RemoteError"),
)
_CONNECTION_ERRORS: Final = (
    *("Disconnected", "HttpError", "MissingClientCapability", "NegotiationError"),
    "RequestTimeout",
)
_LOSSES: Final = (
    ("core.errors", ("Untranslatable",)),
    ("core.losses", ("Loss", "Translated")),
)
# A tool's schema may ask for header fields with any transport.
_MARKS: Final = {"rules": ("param_headers",)}

_PARTS: Final = ("partial_results",)
_TABLES: Final = ("conversions", "plans", "report", "translator")
_OF_TABLES: Final = ("copies", "form_fields", "losses")
_ADDED: Final = {"core.models": ("added_members",), "messages": ("extended_table",)}

CONTENTS: Final = (
    Contents(
        frozenset(),
        {
            "core": ("errors", "json", "revision", "sendable", "spec", "throttle", "value_paths"),
            "core.models": ("base", "core_schema", "members", "types", "validation_errors"),
            "messages": ("jsonrpc", "codec", "results", "writing"),
            "rules": ("capabilities",),
        },
        (("core.errors", _ERRORS),),
        ("capabilities", "methods", "models"),
    ),
    Contents(
        frozenset({ROLES}),
        {
            "connection": (),
            "core": (
                *("base64url", "connection_errors", "extensions", "forms", "http_request"),
                *("json_pointers", "losses", "middleware", "options", "pagination"),
                "tasks",
            ),
            "messages": ("envelope", "lenient_params", "method_table", "reading", "repairing"),
            "rpc": ("batches", "endpoint", "jobs", "outgoing", "peer", "send_queue"),
            "rules": ("handlers", "lifecycle", "server_negotiation", "wire_features"),
            "translation": ("revision_view",),
            "transports": ("base",),
        },
        (
            *_LOSSES,
            ("core.connection_errors", _CONNECTION_ERRORS),
            ("core.middleware", ("CallNext", "MethodCall", "Middleware", "Network", "SessionEnd")),
            ("core.options", ("Options", "Progress")),
            ("core.pagination", ("page",)),
            ("rpc.peer", ("OMITTED", "Omitted")),
            ("rules.handlers", ("handles",)),
            ("transports.base", ("Opener", "Received", "Transport")),
        ),
    ),
    Contents(
        frozenset({"server"}),
        {
            "core": ("copies", "form_fields", "oauth_scopes", "subscriptions", "untitled_schema"),
            "server": (
                *("answers", "base", "connection", "context", "form_check", "layers", "lifespan"),
                *("listen_streams", "questions", "rounds", "sealed_state", "serve", "strategies"),
                *("thread_waits", "waiting_strategies"),
            ),
        },
        (
            ("core.http_request", ("HttpRequest", "Principal", "StatusError")),
            ("core.oauth_scopes", ("InsufficientScope",)),
            ("server.lifespan", ("LifespanError",)),
            ("server.answers", ("Accepted", "Answer", "Cancelled", "Declined", "Form")),
            ("server.questions", ("form",)),
            ("server.serve", ("serve",)),
        ),
        ("server",),
    ),
    Contents(
        frozenset({"client"}),
        {
            "client": (
                *("base", "cache", "checked_results", "config", "connect"),
                *("servers", "tool_results"),
            ),
            "core": (
                *("libraries", "many_errors", "recent_names", "schema_patterns"),
                "schema_validation",
            ),
            "messages": ("lenient_results",),
            "rules": ("client_negotiation",),
        },
        (
            ("client.cache", ("Cache",)),
            ("client.checked_results", ("CheckedResults",)),
            ("client.config", ("ConfigError", "ConnectConfig", "Servers")),
            ("client.tool_results", ("ToolFailed",)),
            ("client.servers", ("Connect",)),
            ("rules.client_negotiation", ("NegotiatedRevision",)),
        ),
        ("client",),
    ),
    Contents(frozenset({EXTENDED}), {"core": ("extensions",)}),
    Contents(frozenset({EXTENDED, ROLES}), _ADDED),
    Contents(frozenset({VERSIONED}), {"core": ("extension_versions",)}),
    Contents(frozenset({VERSIONED, ROLES}), {"messages": ("envelope", "versioned_table")}),
    Contents(frozenset({VERSIONED, "client"}), {"client": ("versions",)}),
    Contents(
        frozenset({RULED_VERSIONS, ROLES}),
        {"core": _OF_TABLES, "translation": (*_TABLES, "versions")},
    ),
    Contents(frozenset({STREAMS, "server"}), {"server": ("extension_session",)}),
    Contents(
        frozenset({STREAMS, "client"}),
        {"client": ("request_stream",)},
        (("client.request_stream", ("RequestStream", "StreamNotification")),),
    ),
    Contents(
        frozenset({SEVERAL}),
        {"core": _OF_TABLES, "translation": _TABLES},
        _LOSSES,
        ("translate",),
    ),
    Contents(
        frozenset({SEVERAL, ROLES}),
        {"translation": ("table", "translated_view"), **_ADDED},
        modules=("translate.adapters",),
    ),
    Contents(frozenset({SEVERAL, "toolkit"}), {"toolkit": ("translated_links",)}),
    Contents(frozenset({SEVERAL, "client"}), {"client": ("era_adapter", "listen_stream")}),
    Contents(frozenset({SEVERAL, "client"}), {"core": ("subscriptions",)}),
    Contents(
        frozenset({"stdio"}),
        {"server": ("stdio",), "transports": ("stdio", "streams", "subprocess")},
        (
            ("server.stdio", ("run_stdio", "serve_stdio")),
            ("transports.stdio", ("open_stdio",)),
            ("transports.streams", ("LineProtocol", "LineTransport")),
            ("transports.subprocess", ("stdio_client",)),
        ),
    ),
    Contents(
        frozenset({"http-server"}),
        {
            "core": ("libraries", "quotas"),
            "http": ("headers", "server", "sse"),
            "rpc": ("null_sink",),
            "storage": ("engine", "memory", "memory_tasks"),
            **_MARKS,
        },
        (
            ("http.server.app", ("HttpApp", "http_app")),
            ("http.server.cors", ("Cors",)),
            (
                "http.server.authentication",
                ("Authentication", "TokenRefused", "VerifierUnavailable", "static_tokens"),
            ),
            ("http.server.options", ("HttpOptions",)),
            ("http.server.protected_resource", ("ProtectedResource",)),
            ("http.server.resource_metadata", ("MetadataApp", "metadata_app")),
            ("http.server.routes", ("Route", "RouteRequest", "RouteResponse")),
            ("http.server.run", ("run_http",)),
            ("storage.engine", ("EngineUnavailable",)),
            ("storage.memory", ("MemoryEngine",)),
        ),
    ),
    Contents(
        frozenset({"http-client"}),
        {
            "http": ("client", "headers", "httpx2", "sse"),
            "transports": ("related",),
            **_MARKS,
        },
        (
            ("http.client.connect", ("ConnectHttp", "open_http")),
            ("http.client.client_state", ("Reconnection",)),
        ),
    ),
    Contents(
        frozenset({"toolkit"}),
        {
            "core": (
                *("libraries", "many_errors", "schema_patterns", "schema_validation"),
                "uri_templates",
            ),
            "toolkit": (
                *("app", "catalogue", "completions", "decorators", "dependencies", "docstrings"),
                *("failures", "functions", "injector", "items", "links", "lookup", "media"),
                *("middleware", "mounting", "mounts", "prompts_and_resources", "request_items"),
                *("results", "revision_models", "server", "switching", "task_options", "threads"),
                *("toolkit_runtime", "uri_templates", "visibility"),
            ),
            **_MARKS,
        },
        (
            ("toolkit.decorators", ("prompt", "resource", "tool")),
            ("toolkit.failures", ("ResourceNotFound", "ToolError")),
            ("toolkit.functions", ("Depends",)),
            ("toolkit.media", ("Audio", "File", "Image")),
            ("toolkit.middleware", ("RateLimit", "ResultCache", "Timing")),
            ("toolkit.server", ("Toolkit",)),
            ("toolkit.uri_templates", ("UriTemplate",)),
        ),
        ("app",),
    ),
    Contents(frozenset({"toolkit", REQUESTED}), {"toolkit": ("requested_outputs",)}),
    Contents(frozenset({ROLES, GATED}), {"rules": ("entry_needs",)}),
    Contents(frozenset({"toolkit", GATED}), {"toolkit": ("entry_needs",)}),
    Contents(frozenset({"client", GATED}), {"client": ("entry_needs",)}),
    Contents(frozenset({"client", RULED}), {"client": ("cache_rules",)}),
    Contents(frozenset({"server", CONDITIONAL}), {"server": ("conditional_errors",)}),
    Contents(frozenset({"server", PARTED}), {"rules": _PARTS, "server": _PARTS}),
    Contents(frozenset({"client", PARTED}), {"client": _PARTS, "rules": _PARTS}),
    Contents(frozenset({"toolkit", _APPS}), {"features.ui": ("constants", "items")}),
    Contents(frozenset({"client", _APPS}), {"features.ui": ("constants", "host")}),
    Contents(
        frozenset({"bridge"}),
        {
            "client": ("listen_stream",),
            "features.bridge": ("bridge", "forwarded_request", "forwarding", "proxies"),
            **_ADDED,
            "rules": ("task_kinds", "task_methods"),
            "transports": ("related",),
        },
        modules=("bridge",),
    ),
    Contents(frozenset({"bridge", "tasks"}), {"features.tasks": ("bridge",)}),
    Contents(
        frozenset({"bridge", "toolkit"}),
        {"server": ("upstream",), "toolkit": ("remote_mounts", "remotes")},
    ),
    Contents(
        frozenset({"bridge", "http-server"}),
        {"features.bridge": ("bridge_app",), "server": ("upstream",)},
        (("features.bridge.bridge_app", ("bridge_app",)),),
    ),
    Contents(
        frozenset({"tool-client"}),
        {"client": ("tool_client",), "core": ("context_task", "uri_expansion", "uri_templates")},
        (
            ("client.tool_client", ("SyncToolClient", "ToolClient")),
            ("core.models", ("Exact", "Implied", "Integer", "Nullable", "Number", "WireModel")),
        ),
    ),
    Contents(
        frozenset({"telemetry"}),
        {
            "core": ("connection_errors", "http_request", "libraries", "middleware"),
            "features": ("telemetry",),
        },
        (("features.telemetry", ("Telemetry",)),),
    ),
    Contents(
        frozenset({"tasks", ROLES}),
        {
            "core": ("base64url", "files"),
            "features.tasks": (
                *("core_wire", "leases", "lifecycle", "on_wire", "registry", "remote_tasks"),
                *("task", "watch"),
            ),
            "rules": ("task_kinds", "task_methods"),
            "storage": ("engine", "memory_tasks", "task_files"),
        },
        (
            ("features.tasks.remote_tasks", ("TaskCancelled", "TaskState")),
            ("features.tasks.registry", ("TaskOptions",)),
            ("storage.memory_tasks", ("MemoryTaskStore",)),
            ("storage.task_files", ("FileTaskStore",)),
        ),
    ),
    Contents(
        frozenset({"tasks", "server"}),
        {"features.tasks.server": ("requested",)},
        (("features.tasks.server.requested", ("RequestedTask",)),),
    ),
    Contents(
        frozenset({"tasks", "toolkit"}),
        {"features.tasks": ("server",), "rpc": ("null_sink",)},
        (("features.tasks.server.requests", ("__mcp_tool_tasks__",)),),
    ),
    Contents(
        frozenset({"tasks", "client"}),
        {"features.tasks": ("client",)},
        (
            ("features.tasks.client.calls", ("TaskCalls",)),
            ("features.tasks.client.handle", ("TaskHandle",)),
            ("features.tasks.client.receiver", ("TaskReceiver",)),
        ),
    ),
    Contents(
        frozenset({"skills", "server"}),
        {"core": ("libraries",), "features.skills": ("entries", "folder", "frontmatter")},
        (("features.skills.folder", ("InvalidSkill", "ServesSkills", "SkillFolder")),),
    ),
    Contents(
        frozenset({"skills", "client"}),
        {"features.skills": ("entries", "frontmatter")},
        (("features.skills.entries", ("SkillFile", "UnverifiedSkill", "read_skill")),),
    ),
    Contents(frozenset({DOCUMENTED}), {"core": ("documents",)}),
    Contents(
        frozenset({"http-server", _CARDS}),
        {"features.server_card": ("card", "serving")},
        (("features.server_card.card", ("CardError",)),),
    ),
    Contents(
        frozenset({"http-client", _CARDS}),
        {
            "features.server_card": ("card", "reading"),
            "features.auth": ("errors", "fetch_policy", "fetching", "steps", "urls"),
        },
        (
            ("features.auth.fetch_policy", ("FetchPolicy",)),
            ("features.auth.fetching", ("Fetcher",)),
            ("features.auth.steps", ("Fetch",)),
            ("features.server_card.card", ("CardError",)),
        ),
    ),
    Contents(
        frozenset({"testing"}),
        {"testing": (), "transports": ("memory",)},
        (("testing", ("ConnectInMemory", "in_memory")),),
    ),
    Contents(
        frozenset({"bridge", "testing"}),
        {"transports": ("recordings", "replaying")},
        (("transports.replaying", ("replaying",)),),
    ),
    Contents(
        frozenset({"auth"}),
        {"features.auth": ("errors",)},
        (
            (
                "features.auth.errors",
                ("AuthorizationError", "InvalidMetadata", "OAuthError", "Unreachable", "UnsafeUrl"),
            ),
        ),
    ),
    Contents(
        frozenset({"auth", "http-client"}),
        {
            "features.auth": (
                *("challenge", "client", "dpop", "fetch_policy", "fetching", "json_objects"),
                *("signing", "steps", "urls"),
            ),
            "core": ("files",),
            "http": ("httpx2",),
        },
        (
            (
                "features.auth.client.grants",
                ("AuthorizationCode", "ClientCredentials", "EnterpriseManaged", "WorkloadIdentity"),
            ),
            ("features.auth.client.user_agent", ("LoopbackReceiver",)),
            ("features.auth.client.oauth", ("OAuth",)),
            ("features.auth.client.registration", ("client_metadata_document",)),
            (
                "features.auth.client.storage",
                ("FileStorage", "KeyringStorage", "MemoryStorage", "TokenStorage"),
            ),
            ("features.auth.client.user_agent", ("WebRedirect",)),
            ("features.auth.client.values", ("ClientInformation", "ClientMetadata")),
            ("features.auth.dpop", ("DPoP",)),
            ("features.auth.fetch_policy", ("FetchPolicy",)),
        ),
    ),
    Contents(
        frozenset({"auth", "http-server"}),
        {
            "features.auth": (
                *("fetch_policy", "fetching", "json_objects", "server", "signing", "steps"),
                "urls",
            ),
            "features.auth.client": ("client_authentication", "values"),
            "http": ("httpx2",),
        },
        (
            ("features.auth.fetch_policy", ("FetchPolicy",)),
            ("features.auth.client.values", ("ClientInformation",)),
            ("features.auth.fetching", ("Fetcher",)),
            ("features.auth.steps", ("Fetch",)),
            ("features.auth.server.cache", ("TokenCache",)),
            ("features.auth.server.dpop_proofs", ("DPoPProofs",)),
            ("features.auth.server.introspection", ("Introspection",)),
            ("features.auth.server.issuers", ("Issuers",)),
            ("features.auth.server.jwt", ("JwtVerifier",)),
            ("features.auth.server.keys", ("JwksUri", "StaticKeys")),
            ("features.auth.server.replays", ("MemoryReplays", "SharedReplays")),
        ),
    ),
    *(
        Contents(
            frozenset({engine}),
            {
                "core": ("libraries",),
                "features.sharing": ("batches", "lease", engine),
                "storage": ("engine",),
            },
            ((f"features.sharing.{engine}.{engine}_engine", (name,)),),
        )
        for engine, name in _ENGINES.items()
    ),
    *(
        Contents(
            frozenset({"http-server", engine}),
            {
                "core": ("context_task",),
                "features.sharing": (
                    *("record", "relay", "session_messages", "shared_sessions"),
                    *("shared_worker", "stored_sessions", "worker_messages"),
                ),
            },
            (("features.sharing.shared_sessions", ("Shared",)),),
        )
        for engine in _ENGINES
    ),
)
