"""The pages of the site in their order, with the descriptions that `llms.txt` has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from website.places import DOCS, ROOT

FILES: Final = {
    "index": "README.md",
    "contributing": "CONTRIBUTING.md",
    "contributing-architecture": "docs/contributing/architecture.md",
    "contributing-glossary": "docs/contributing/glossary.md",
    "contributing-libraries": "docs/contributing/libraries.md",
    "contributing-revision": "docs/contributing/revision.md",
    "contributing-tests": "docs/contributing/tests.md",
    "changelog": "CHANGELOG.md",
    "security-policy": "SECURITY.md",
    "measuring": "benchmarks/README.md",
    "python-sdk": "examples/python-sdk/README.md",
    "typescript-sdk": "examples/typescript-sdk/README.md",
    "severities-of-changes": "codegen/mcp_protogen/pipeline/reports/severities.md",
    "severities-of-sdks": "codegen/mcp_protogen/instep/audit/severities.md",
    "severities-of-vectors": "codegen/mcp_protogen/instep/vectors/severities.md",
    "severities-of-contracts": "codegen/mcp_protogen/servers/clients/severities.md",
}
"""The files of pages whose text is not directly in `docs/`."""

RENAMED: Final = {"call": "command-call", "calling": "client-calls", "hooks": "middleware"}
"""Former names of pages; the site redirects from them."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the stem of its address, its title in the navigation, and its subject."""

    name: str
    title: str
    about: str
    made: bool = False
    """True if the text is made when the site is built."""

    @property
    def file(self) -> str:
        """The file of its text, from the root of the checkout, unless it is made."""
        return FILES.get(self.name, f"docs/{self.name}.md")


@dataclass(frozen=True, slots=True)
class Section:
    """Pages that belong together."""

    title: str
    pages: Sequence[Page]


SUMMARY: Final = (
    "mcp-gen turns the Model Context Protocol schema into a typed Python package: models, method"
    " tables, servers, clients and their runtime."
)

START: Final = Page("index", "mcp-gen", "what it is, and where to begin")


@dataclass(frozen=True, slots=True)
class Tool:
    """A page of the site that is a program."""

    address: str
    title: str
    about: str


EXPLORER: Final = Tool(
    "explorer/index.html",
    "Protocol explorer",
    "methods, types, gates, errors and headers of every revision, what changed, and a judge of"
    " messages",
)

SECTIONS: Final = (
    Section(
        "Begin",
        (
            Page("install", "Install", "ways to install it"),
            Page("first-server", "First server", "a server in five minutes, and in hosts"),
            Page("first-client", "First client", "a client, step by step"),
            Page("first-gateway", "First gateway", "many servers behind one endpoint"),
            Page("which-revision", "Which revision", "which revision to write for, and to serve"),
            Page("dev", "Developing", "a server that is started again after each edit"),
            Page("debug", "Debug a server", "why it does not start, and what it does wrong"),
            Page("why", "Why not …", "beside fastmcp, the mcp SDK, datamodel-code-generator"),
            Page("new", "New projects", "new projects, and which part of them is generated"),
            Page("from-fastmcp", "From fastmcp", "what changes when you come from fastmcp"),
            Page("from-mcp-sdk", "From the mcp SDK", "what changes when you come from the mcp SDK"),
            Page("examples", "Examples", "six known servers, written with this package"),
        ),
    ),
    Section(
        "Servers",
        (
            Page("app", "Servers", "the shortest way, and mistakes that are found early"),
            Page("toolkit", "Tools, resources, prompts", "functions that become them"),
            Page("asking", "Asking the user", "forms and links, with values of types as answers"),
            Page("state", "State and dependencies", "what handlers share and get"),
            Page("middleware", "Middleware", "rate limits, telemetry, your own"),
            Page("mounting", "Mounting", "offering what other servers have, and to whom"),
            Page("sessions", "Sessions", "handlers, requests, changes, limits, shutdown"),
            Page("tasks", "Tasks", "tools whose calls become tasks, and clients of tasks"),
            Page("skills", "Skills", "folders of instructions that a server publishes"),
            Page("user-interfaces", "User interfaces", "pages that hosts show with results"),
            Page("server-cards", "Server cards", "how clients find a server and connect to it"),
            Page("testing", "Testing", "tests with a client in the same process"),
        ),
    ),
    Section(
        "Clients",
        (
            Page("connecting", "Connecting", "what `connect` takes, and several servers"),
            Page("client-calls", "Calling from Python", "params, results, time limits, changes"),
            Page("command-call", "Calling from a terminal", "`list`, `call`, `read` and `prompt`"),
            Page("typed-clients", "Typed clients", "a module of a server's tools"),
        ),
    ),
    Section(
        "Running",
        (
            Page("transports", "Transports", "stdio, in memory, and your own transports"),
            Page("http", "HTTP", "options, routes, workers, and the client"),
            Page("deployment", "Deployment", "containers, systemd, proxies, TLS, workers"),
            Page("frozen", "One file", "PyInstaller, Nuitka and zipapp"),
            Page("many-machines", "Many machines", "what workers on many machines share"),
            Page("security", "Security", "what is protected, and what you have to do"),
            Page("authorization-servers", "Requiring tokens", "who calls, scopes, challenges"),
            Page("authorization-verifiers", "Verifying tokens", "JWTs, introspection, keys"),
            Page("authorization-clients", "Logging in", "tokens, where they are kept, grants"),
            Page("identity-providers", "Identity providers", "who issues the tokens"),
        ),
    ),
    Section(
        "Revisions",
        (
            Page("translation", "Between revisions", "one server class for all revisions; bridges"),
            Page("bridge", "The bridge", "between transports and revisions; recording, replaying"),
            Page("gateway", "The gateway", "many servers behind one endpoint, and their file"),
            Page("gateway-access", "Gateway: access", "rules, limits, credentials, accepted items"),
            Page("gateway-operating", "Gateway: operating", "reload, health, metrics and logs"),
            Page("gateways", "Other gateways", "which clients reach which servers through them"),
            Page("negotiation", "Negotiation", "how two sides agree on a revision"),
            Page("protocol", "States and tables", "drawings and matrices", made=True),
            Page("models", "Models", "null and absent, unions, differences from the schema"),
            Page("extensions", "Extensions", "those that are pinned, and how to use them"),
            Page("drafts", "Drafts", "generating from a schema that is not pinned"),
        ),
    ),
    Section(
        "Commands",
        (
            Page("command", "The command", "problems, output, and other people's projects"),
            Page("inspect", "Inspecting servers", "what of the specification a server breaks"),
            Page("inspect-examples", "Inspected servers", "what was found in servers people use"),
            Page("diff", "Comparing revisions", "what differs, and whom it breaks"),
            Page("severities-of-changes", "Severities", "who it breaks, and why"),
            Page("severities-of-contracts", "Of contracts", "who it breaks, and why"),
            Page("audit", "Auditing SDKs", "how an SDK differs from a revision"),
            Page("severities-of-sdks", "Severities for SDKs", "what each means to users"),
            Page("audit-examples", "Audited SDKs", "three real SDKs, confirmed by hand"),
            Page("vectors", "Test vectors", "valid and invalid messages, for any language"),
            Page("severities-of-vectors", "Severities for vectors", "what each fault means"),
            Page("monorepo", "Monorepos", "a hook and a workflow that check each member"),
            Page("update", "Updating", "has the specification changed, and what follows"),
        ),
    ),
    Section(
        "For SDKs",
        (
            Page("targets", "Targets", "what SDKs take, and how to write others"),
            Page("targets-msgspec", "msgspec", "types that msgspec reads and writes"),
            Page("targets-dependency-free", "Without dependencies", "`TypedDict`s, dataclasses"),
            Page("targets-typescript", "TypeScript", "types and tables in TypeScript"),
            Page("python-sdk", "The official Python SDK", "its types, made from settings"),
            Page("typescript-sdk", "The official TypeScript SDK", "its types of the specification"),
            Page("templates", "Templates", "which there are, and the contract that they keep"),
        ),
    ),
    Section(
        "Reference",
        (
            Page("reference", "Names", "all public names of a package", made=True),
            Page("reference-servers", "Servers", "names for servers", made=True),
            Page("reference-clients", "Clients", "names for clients", made=True),
            Page("reference-running", "Transports", "names for stdio, HTTP, workers", made=True),
            Page("reference-authorization", "Authorization", "names for tokens", made=True),
            Page("reference-tasks", "Tasks", "names for tasks", made=True),
            Page("reference-revisions", "Between revisions", "names for bridges", made=True),
            Page("reference-messages", "Messages", "to read and write messages", made=True),
            Page("reference-errors", "Errors", "errors that are raised, and when", made=True),
            Page("reference-generator", "The generator", "names for targets", made=True),
            Page("reference-commands", "Commands", "all commands and options", made=True),
            Page("reference-settings", "Settings", "settings in `pyproject.toml`", made=True),
            Page("reference-codes", "Codes", "what each code means, what to do", made=True),
            Page("reference-texts", "Texts", "every text of problems, errors and logs", made=True),
        ),
    ),
    Section(
        "Evidence",
        (
            Page("generated-artifacts", "What schemas say", "what follows from schemas"),
            Page("requirements", "Requirements", "what the protocol requires, and its tests"),
            Page("requirements-authorization", "Of authorization", "each with its test"),
            Page("requirements-tasks", "Of tasks", "each with its test"),
            Page("conformance", "Conformance", "results of the official suite"),
            Page("speed", "Speed", "what was measured beside other tools"),
            Page("measuring", "How speed is measured", "what the benchmarks compare, and how"),
        ),
    ),
    Section(
        "The project",
        (
            Page("contributing", "Contributing", "commands, the map of the code, where data lives"),
            Page("contributing-architecture", "Architecture", "how it works inside"),
            Page("contributing-revision", "Add a revision", "a new or changed published schema"),
            Page("contributing-tests", "The tests", "folders, samples, mutants"),
            Page("contributing-libraries", "Libraries", "what we build, and what we take"),
            Page("contributing-glossary", "Glossary", "words of the code"),
            Page("changelog", "Changes", "changes of the public interface"),
            Page("platforms", "Platforms", "systems and versions of Python, and how they differ"),
            Page("releasing", "Releases", "how a release is made, and how to verify one"),
            Page("security-policy", "Reporting", "how to report, and which versions get fixes"),
            Page("files", "Files", "records and workflows that pages name", made=True),
        ),
    ),
)


def sections() -> Iterator[Section]:
    """Yield the sections with the pages that exist."""
    for section in SECTIONS:
        there = [page for page in section.pages if page.made or (ROOT / page.file).is_file()]
        yield Section(section.title, there)


def pages() -> Iterator[Page]:
    """Yield every page, the first one first."""
    yield START
    for section in sections():
        yield from section.pages


def title_of(name: str) -> str:
    """Return the title of the page with a name."""
    return next(page.title for page in pages() if page.name == name)


def unlisted_pages() -> set[str]:
    """Return the files of `docs/` that are not in the navigation."""
    listed = {page.file for page in pages()}
    folders = DOCS, DOCS / "contributing"
    files = (file for folder in folders for file in folder.glob("*.md"))
    found = {file.relative_to(ROOT).as_posix() for file in files}
    return found - listed
