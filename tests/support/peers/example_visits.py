"""The visits of foreign clients to the servers of `examples/`, and their expected results."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.folders import ROOT
from support.generated.package_copy import copied_package
from support.json_types import JsonObject
from support.missing import skip_untested
from support.peers.places import PEERS, Command
from support.peers.spoken import NEWEST, WITHOUT
from support.peers.visits import Expected, Peers, Step
from support.revisions import STATELESS


@dataclass(frozen=True)
class ByEra:
    """The expected results of a step in revisions with sessions, and without."""

    sessions: Expected
    stateless: Expected


Use = tuple[Step, Expected | ByEra]

TRANSPORTS: Final = ("stdio", "HTTP")

ADA: Final = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
ENGINE: Final = {"name": "Engine", "entityType": "machine", "observations": ["has 4 axes"]}
GRAPH: Final = "memory://knowledge-graph"
TEA: Final = "<title>Tea</title><p>Boil <b>water</b>.</p><ul><li>one</li></ul>"
TEA_SHOWN: Final = "# Tea\n\nBoil **water**.\n\n- one"
REPOSITORY: Final = {"repo_path": "FOLDER/repository"}
OTHER_DAY: Final = {"action": "accept", "content": {"other_day": True, "day": "2024-12-27"}}
FULL: Final = {"date": "2024-12-25", "time": "19:00", "party_size": 2}
ASKED: Final = ["There is no table for 2 on 2024-12-25. Try another day?"]


def _call(
    name: str, arguments: JsonObject, expected: Expected | ByEra, *answers: JsonObject
) -> Use:
    return ("call", name, arguments, answers), expected


def _structured_result(content: Mapping[str, Any]) -> Expected:
    """Return the content, and the same as text for clients without structured content."""
    return {"text": re.compile("^{.*}$"), "structuredContent": content}


def _text(text: str, **more: Any) -> Expected:
    return {"text": text, "structuredContent": {"result": text}, **more}


def _git(command: str, expected: str, **arguments: Any) -> Use:
    return _call(f"git_{command}", {**REPOSITORY, **arguments}, re.compile(expected))


USES: Final[Mapping[str, Sequence[Use]]] = {
    "time": [
        (("tools",), ["get_current_time", "convert_time"]),
        _call(
            "convert_time",
            {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"},
            _structured_result(
                {
                    "source": {"timezone": "Asia/Tokyo", "datetime": re.compile("T16:30:00.09:00")},
                    "target": {"datetime": re.compile("T13:00:00.05:30"), "is_dst": False},
                    "time_difference": "-3.5h",
                }
            ),
        ),
        _call("get_current_time", {"timezone": "UTC"}, _structured_result({"timezone": "UTC"})),
        _call(
            "get_current_time", {"timezone": "Mars/Base"}, {"failure": re.compile("/timezone: ")}
        ),
        _call("get_time", {}, -32602),
    ],
    "memory": [
        (
            ("tools",),
            [
                *("create_entities", "create_relations", "add_observations"),
                *("delete_entities", "delete_observations", "delete_relations"),
                *("read_graph", "search_nodes", "open_nodes"),
            ],
        ),
        (("resources",), [GRAPH]),
        _call("create_entities", {"entities": [ADA]}, _structured_result({"entities": [ADA]})),
        (
            ("watch", GRAPH, 1, "create_entities", {"entities": [ENGINE]}),
            {"heard": ["notifications/resources/updated"]},
        ),
        (("read", GRAPH), re.compile("Ada.*Engine")),
        _call(
            "create_entities",
            {"entities": [{"name": 1}]},
            {"failure": re.compile("/entities/0/name: .*got 1\n/entities/0/entityType: ")},
        ),
    ],
    "git": [
        (
            ("tools",),
            [
                *("git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_commit"),
                *("git_add", "git_reset", "git_log", "git_create_branch", "git_checkout"),
                *("git_show", "git_branch"),
            ],
        ),
        _git("status", "modified: +tea.html"),
        _git("add", "are staged", files=["tea.html"]),
        _call("git_status", {"repo_path": "/"}, {"failure": re.compile("/repo_path: .*outside")}),
    ],
    "fetch": [
        (("tools",), ["fetch"]),
        (("prompts",), ["fetch"]),
        _call("fetch", {"url": "SITE/tea.html"}, re.compile(re.escape(TEA_SHOWN) + "$")),
        (("prompt", "fetch", {"url": "SITE/tea.html"}), TEA_SHOWN),
        _call("fetch", {"url": "file:///etc/passwd"}, {"failure": re.compile("/url: ")}),
    ],
    "mounted": [
        (
            ("tools",),
            ["check_app_status", "weather_get_weather_forecast", "news_get_news_headlines"],
        ),
        (("resources",), ["weather://weather/forecast", "news://news/headlines"]),
        _call("check_app_status", {}, _structured_result({"status": "running"})),
        _call(
            "weather_get_weather_forecast",
            {"location": "Lisbon"},
            _text("It will be sunny in Lisbon, with a light wind."),
        ),
        _call(
            "news_get_news_headlines",
            {},
            ByEra(
                {"text": str, "structuredContent": {"result": [str] * 3}},
                {"text": str, "structuredContent": [str] * 3},
            ),
        ),
        (("read", "news://news/headlines"), re.compile("top_story")),
    ],
    "elicitation": [
        (("tools",), ["book_table", "secure_payment", "connect_service"]),
        _call(
            "book_table",
            FULL,
            _text("A table is booked on 2024-12-27 at 19:00.", asked=ASKED),
            OTHER_DAY,
        ),
        _call(
            "book_table",
            FULL,
            _text("The user has given up.", asked=ASKED),
            {"action": "decline"},
        ),
        _call(
            "secure_payment",
            {"amount": 5},
            _text("The payment of $5.00 is confirmed in the browser.", asked=["Confirm $5.00."]),
            {"action": "accept"},
        ),
        _call(
            "connect_service",
            {"service_name": "mail"},
            ByEra(
                -32042,
                {"failure": re.compile("https://mail.example.com/"), "asked": ["Sign in to mail."]},
            ),
        ),
    ],
}
"""By server. `FOLDER` stands for a folder that nobody else uses, and `SITE` for the URL of a site
of the web."""

OPTIONS: Final = {"fetch": ("--private",), "git": ("--repository", "FOLDER")}

EXAMPLES: Final = ROOT / "examples"
PAGE: Final = ROOT / "docs" / "examples.md"


def command(server: str, folder: Path, *options: str) -> Command:
    """Return the command line of a server that keeps its data in a folder."""
    return (
        "env",
        f"PYTHONPATH={_packages(folder)}",
        f"MEMORY_FILE_PATH={folder / 'memory.jsonl'}",
        # The site is on this machine.
        "no_proxy=127.0.0.1",
        # Otherwise a package beside the program comes first.
        *(sys.executable, "-P", EXAMPLES / f"{server}_server.py"),
        *(option.replace("FOLDER", str(folder)) for option in OPTIONS.get(server, ())),
        *options,
    )


def _packages(folder: Path) -> Path:
    """Return a folder with the committed package under the name in users' projects."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "pkg").exists():
        (folder / "pkg").symlink_to(copied_package())
    return folder


def uses(server: str, client: str) -> list[tuple[Step, Expected]]:
    """Return the steps of a client at a server, with their expected results."""
    revision = NEWEST[client]
    found: list[tuple[Step, Expected]] = []
    for step, expected in USES[server]:
        if isinstance(expected, ByEra):
            expected = expected.stateless if revision >= STATELESS else expected.sessions
        if step[0] not in WITHOUT.get((client, revision), ()):
            found.append((step, expected))
    return found


def _steps(server: str, client: str, folder: Path, site: str) -> list[Step]:
    text = json.dumps([step for step, _ in uses(server, client)])
    filled: list[Step] = json.loads(text.replace("FOLDER", str(folder)).replace("SITE", site))
    return filled


def prepare(folder: Path) -> None:
    """Fill a folder with a repository in which a page has changed since the only commit."""
    if shutil.which("git") is None:
        skip_untested("git", "the servers of examples/, used by clients of others")
    repository = folder / "repository"
    repository.mkdir(parents=True)
    page = repository / "tea.html"
    page.write_text("")
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.com"),
        ("add", "tea.html"),
        ("commit", "--quiet", "--message=Begin"),
    ):
        subprocess.run(("git", "-C", repository, *arguments), check=True)
    page.write_text(TEA)


async def visit_all(
    peers: Peers, client: str, transport: str, folder: Path
) -> dict[str, JsonObject]:
    """Let a client use all servers over a transport; return its view of each."""
    prepare(folder)
    at = ("-m", "http.server", "PORT", "--bind", "127.0.0.1", "--directory")
    site = await peers.server(sys.executable, *at, folder / "repository")
    visitor = await peers.visitor(client)
    seen: dict[str, JsonObject] = {}
    for server in USES:
        address: str | Command = command(server, folder)
        if transport == "HTTP":
            served = await peers.server(*command(server, folder, "--http", "PORT"))
            address = f"http://127.0.0.1:{served.port}/mcp"
        steps = _steps(server, client, folder, f"http://127.0.0.1:{site.port}")
        seen[server], _ = await visitor.visit(address, steps)
    return seen


_PINNED: Final = {
    "mcp 1": ("mcp", "requirements-mcp-1.txt"),
    "mcp 2": ("mcp", "requirements-mcp-2.txt"),
    "fastmcp": ("fastmcp", "requirements-mcp-2.txt"),
    "TypeScript 1": ("@modelcontextprotocol/sdk", "package.json"),
    "TypeScript 2": ("@modelcontextprotocol/client", "package.json"),
}


def row(client: str) -> str:
    """Return the page's row for a client: its version and its revision."""
    name, file = _PINNED[client]
    pins = (PEERS / file).read_text(encoding="utf-8")
    found = re.search(rf'^ *"?{re.escape(name)}(?:==|": ")([\d.]+)', pins, re.MULTILINE)
    assert found is not None, name
    return f"| `{name}` {found[1]} | {NEWEST[client]} |"
