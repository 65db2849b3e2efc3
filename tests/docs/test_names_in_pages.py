"""Names in code on pages are exactly those of the package."""

import re
from typing import Final

import mcp_revisions as package
from mcp_protogen.base.names import extension_module, pascal
from mcp_protogen.pipeline.parts import DEFAULT, PARTS, PartSelection, missing_names, parse_parts
from support.docs import accounting
from support.docs.names import NO_PYTHON, bound, problems
from support.docs.pages import DOCS, block_texts, page, programs, rename_package
from support.folders import ROOT
from support.tables import case

NAME: Final = package.__name__
REVISIONS: Final = [f"{NAME}.v2025_11_25", f"{NAME}.v2026_07_28"]
EXTENSIONS: Final = {
    name: f"{REVISIONS[-1]}.ext.{extension_module(name)}"
    for name in ("apps", "server-card", "skills", "tasks")
}

# Pages with programs that use a package, except those about other packages.
PAGES: Final = tuple(
    name
    for name in accounting.PAGES
    if any("from pkg" in program for program in block_texts(name)) and not name.startswith("from-")
)
ROOTS: Final = {
    "app": [*(f"{revision}:App" for revision in REVISIONS), f"{NAME}:HttpApp"],
    "session": [f"{revision}:Session" for revision in REVISIONS],
    "client": [
        *(f"{revision}:Client" for revision in REVISIONS),
        *(f"{place}:{pascal(name)}Client" for name, place in EXTENSIONS.items()),
    ],
    "server": [f"{revision}:App" for revision in REVISIONS],
    "call": [f"{NAME}:MethodCall"],
    "host": [f"{REVISIONS[-1]}.ext.apps:AppsClient", f"{REVISIONS[-1]}:Client"],
    "mcp": REVISIONS,
    "m": [f"{revision}.models" for revision in REVISIONS],
    "models": [f"{REVISIONS[-1]}.models", f"{REVISIONS[-1]}.ext.apps.models"],
    "resource": [f"{NAME}:resource", f"{NAME}:ProtectedResource"],
    "http": [f"{NAME}:HttpApp"],
    "negotiated": [f"{NAME}:NegotiatedRevision"],
    "cache": [f"{NAME}:{cls}" for cls in ("Cache", "ResultCache", "TokenCache")],
    "pkg": [NAME],
}
SPACES: Final = [
    *(NAME, *REVISIONS, *(f"{revision}.models" for revision in REVISIONS)),
    *EXTENSIONS.values(),
    *(f"{place}.models" for place in EXTENSIONS.values()),
    # Methods also occur without their class.
    *(f"{revision}:{cls}" for revision in REVISIONS for cls in ("App", "Client", "Session")),
    *(f"{NAME}:{cls}" for cls in ("ProtectedResource", "TaskHandle", "Transport")),
    *("asyncio", "enum", "pathlib", "pydantic", "typing"),
    *("starlette.applications", "starlette.routing"),
]
# Names outside the package: header fields, JSON, and the reader's own.
OTHERS: Final[dict[str, set[str]]] = {
    "authorization-clients.md": {"Authorization", "Authorizer", "authorizer"},
    "authorization-servers.md": {"Authorization", "Bearer", "DPoP"},
    "authorization-verifiers.md": {"Bearer"},
    "connecting.md": {"Authorization", "Weather"},
    "bridge.md": {"Host", "Origin"},
    "deployment.md": {"Authorization"},
    "inspect.md": {"Origin"},
    # The interface of engines is not among the names of a package.
    "many-machines.md": {"Engine"},
    "first-client.md": {"Forecast"},
    "http.md": {
        *("Accept", "Authorization", "Host", "Origin", "Vary", "json"),
    },
    "models.md": {
        *("AnnotatedObject", "BoxItem", "Infinity", "Item", "NaN", "Object", "UnknownContent"),
        *("Tool", "Value"),
    },
    "security.md": {"Host", "Origin"},
    "server-cards.md": {"ETag", "Host"},
    "testing.md": {"Greeter", "New", "Old", "greeter", "welcome"},
    "toolkit.md": {"Decimal", "Loud", "Parameters", "Quiet"},
    "transports.md": {"hand_over"},
    # The module of the page's own server.
    "user-interfaces.md": {"weather"},
}
# Attributes of OpenTelemetry, files, and fields of messages and of headers.
NO_CODE: Final = re.compile(
    r"\w+\.(json|py|toml)|(mcp|server)\.\w+(\.\w+)+|server\.(address|port)|\[tool\.mcp-gen\]|\w+(-\w+)+|.*\w/\w.*"
)


def spans(name: str) -> list[str]:
    """The pieces of code within the sentences of a page."""
    text = re.sub(r"```.*?```", "", rename_package(page(name)), flags=re.DOTALL)
    found: list[str] = re.findall(r"`([^`\n]+)`", text)
    return [span for span in found if not NO_CODE.fullmatch(span)]


def test_every_name_in_the_code_of_a_page_is_there() -> None:
    for name in PAGES:
        with case(name):
            shown = programs(name)
            examples = OTHERS.get(name, set()).union(*map(bound, shown))
            found = problems([*spans(name), *shown], ROOTS, SPACES, examples)
            # Sentences also name members of messages, options of commands and the like.
            others = {f"{span}: {NO_PYTHON}" for span in spans(name)}
            assert [found_name for found_name in found if found_name not in others] == []


def test_names_that_are_not_there_are_found() -> None:
    rows = {
        "session.progess(1)": "there is no session.progess",
        "await client.call_tool(name, as_type=int)": "client.call_tool has no as_type=",
        '@app.tool(titel="a")': "app.tool has no titel=",
        "HttpOptions(host=1)": "HttpOptions has no host=",
        'mcp.App("a", port=1)': "mcp.App has no port=",
        "m.CallTool": "there is no m.CallTool",
        "ToolErr": "there is no ToolErr",
        "conect(url)": "there is no conect",
        "from asyncio import waits": "asyncio has no waits",
        "a b": NO_PYTHON,
    }
    for piece, problem in rows.items():
        with case(piece):
            assert problems([piece], ROOTS, SPACES) == [f"{piece}: {problem}"]
    assert problems(["def conect(x: Any) -> Any: ...\nconect(x)"], ROOTS, SPACES) == []


def test_the_package_of_a_page_has_what_its_programs_import() -> None:
    command = re.compile(r"^(?: {4})?mcp-gen (--revision .*) --out pkg/?$", re.MULTILINE)
    pages = ("authorization-servers", "deployment", "extensions", "first-client", "first-server")
    for name in (*pages, "server-cards", "skills", "tasks", "user-interfaces"):
        (options,) = command.findall(page(f"{name}.md"))
        parts = re.search(r"--with (\S+)", options)
        missing = missing_names(
            PartSelection(
                parse_parts([parts[1]]) if parts else DEFAULT,
                several=options.count("--revision") > 1 or "--revision all" in options,
                extensions=re.findall(r"--extension (\S+)", options),
            )
        )
        with case(f"{name}: {options}"):
            text = page(f"{name}.md")
            imported = re.findall(r"^from pkg import (?:\(([^)]*)\)|(.*))$", text, re.MULTILINE)
            names = set(re.findall(r"\w+", " ".join(map(" ".join, imported))))
            assert names and sorted(names & missing.keys()) == []


def test_every_part_is_in_the_table_of_parts() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)` \| .* \| (?:both|server|client|none) \|$", page("command.md"), re.M
    )
    assert {*rows} == PARTS.keys()


def test_every_public_name_is_on_a_page() -> None:
    texts = [page(path.name) for path in DOCS.glob("*.md")]
    texts.append((ROOT / "README.md").read_text(encoding="utf-8"))
    code = " ".join(
        piece for text in texts for piece in re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)
    )
    named = set(re.findall(r"\w+", code))
    assert sorted(set(vars(package)["__all__"]) - named) == []
