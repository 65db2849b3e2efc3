"""The public names of a package by task: the page and the heading of each, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Heading:
    """Names for one job."""

    title: str
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Topic:
    """One page of the reference; `guides` are pages that explain the use of its names."""

    page: str
    title: str
    guides: Sequence[str]
    headings: Sequence[Heading]


def _heading(title: str, names: str) -> Heading:
    return Heading(title, names.split())


TOPICS: Final = (
    Topic(
        "reference-servers",
        "Reference: servers",
        ("app", "toolkit", "asking", "sessions", "middleware", "skills", "server-cards", "state"),
        (
            _heading("Servers of functions", "App Toolkit tool resource prompt Depends"),
            _heading("Results and errors of functions", "Image Audio File ToolError"),
            _heading("Resources", "ResourceNotFound UriTemplate page"),
            _heading("Servers of a revision", "Server Session handles LifespanError"),
            _heading("Who calls", "Principal HttpRequest"),
            _heading("Questions to the user", "form Form Answer Accepted Declined Cancelled"),
            _heading("Middleware", "Middleware MethodCall CallNext SessionEnd Network"),
            _heading("Middleware that is there", "RateLimit ResultCache Timing Telemetry"),
            _heading("Publishing skills", "ServesSkills SkillFolder InvalidSkill"),
            _heading("Server cards", "CardError"),
        ),
    ),
    Topic(
        "reference-clients",
        "Reference: clients",
        ("connecting", "client-calls", "skills", "testing"),
        (
            _heading("Connecting", "connect connect_config Connect ConnectConfig Servers"),
            _heading("What was agreed", "NegotiatedRevision"),
            _heading("Clients of a revision", "Client Options Progress"),
            _heading("Results", "Cache CheckedResults ToolFailed"),
            _heading("Typed clients", "ToolClient SyncToolClient Omitted OMITTED"),
            _heading("Types in typed clients", "WireModel Integer Number Exact Nullable Implied"),
            _heading("Reading skills", "read_skill SkillFile UnverifiedSkill"),
            _heading(
                "In one process", "connect_in_memory client_of in_memory replaying ConnectInMemory"
            ),
        ),
    ),
    Topic(
        "reference-running",
        "Reference: transports",
        ("transports", "http", "many-machines"),
        (
            _heading("Standard input and output", "run_stdio serve_stdio open_stdio stdio_client"),
            _heading("Serving over HTTP", "http_app HttpApp run_http HttpOptions Cors"),
            _heading("Routes of your own", "Route RouteRequest RouteResponse"),
            _heading("Calling over HTTP", "connect_http open_http ConnectHttp Reconnection"),
            _heading("Several workers", "Shared MemoryEngine RedisEngine PostgresEngine"),
            _heading("Transports of your own", "serve Transport Received Opener"),
            _heading("Lines of JSON", "LineTransport LineProtocol"),
        ),
    ),
    Topic(
        "reference-authorization",
        "Reference: authorization",
        (
            *("authorization-servers", "authorization-verifiers", "authorization-clients"),
            "identity-providers",
        ),
        (
            _heading("Requiring tokens", "Authentication static_tokens ProtectedResource"),
            _heading("Metadata of a resource", "metadata_app MetadataApp"),
            _heading("Verifying tokens", "JwtVerifier JwksUri StaticKeys Introspection Issuers"),
            _heading("Remembering tokens", "TokenCache"),
            _heading("Keys and proofs", "DPoPProofs MemoryReplays SharedReplays DPoP"),
            _heading("Asking other servers", "Fetcher Fetch FetchPolicy"),
            _heading("Logging in", "OAuth AuthorizationCode LoopbackReceiver WebRedirect"),
            _heading("Without a user", "ClientCredentials EnterpriseManaged WorkloadIdentity"),
            _heading("Clients", "ClientInformation ClientMetadata client_metadata_document"),
            _heading("Keeping tokens", "TokenStorage MemoryStorage FileStorage KeyringStorage"),
        ),
    ),
    Topic(
        "reference-tasks",
        "Reference: tasks",
        ("tasks",),
        (
            _heading("Tools that are tasks", "TaskOptions RequestedTask TaskState TaskCancelled"),
            _heading("Keeping tasks", "MemoryTaskStore FileTaskStore"),
            _heading("Calling", "TaskCalls TaskHandle TaskReceiver"),
        ),
    ),
    Topic(
        "reference-revisions",
        "Reference: between revisions",
        ("translation", "negotiation"),
        (
            _heading("The revisions of a package", "REVISIONS load"),
            _heading("Bridges", "Bridge bridge_app"),
            _heading("Translating messages", "translate Translated Loss Untranslatable"),
        ),
    ),
    Topic(
        "reference-errors",
        "Reference: errors",
        ("sessions", "client-calls", "http", "authorization-clients"),
        (
            _heading("Errors of the protocol", "McpError InvalidParams MethodNotFound"),
            _heading("What a peer has not declared", "MissingCapability MissingClientCapability"),
            _heading("What a peer did", "RemoteError ProtocolError RequestTimeout Disconnected"),
            _heading("What the caller did", "LocalError ConfigError"),
            _heading("Connecting", "NegotiationError HttpError StatusError"),
            _heading("Access", "InsufficientScope TokenRefused VerifierUnavailable"),
            _heading("Logging in", "AuthorizationError OAuthError InvalidMetadata UnsafeUrl"),
            _heading("Other servers", "Unreachable EngineUnavailable"),
        ),
    ),
)

PAGES: Final = {
    name: topic.page for topic in TOPICS for heading in topic.headings for name in heading.names
}
"""The page of each name."""
