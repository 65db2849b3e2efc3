"""Each piece of code in the right-hand columns of the pages for users of other packages runs.

A piece runs in a program of one revision: with `session` in a tool that a client calls over HTTP,
else beside a new app and that client.
"""

import ast
import asyncio
import inspect
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple, cast

import mcp_revisions as pkg
import pytest
from mcp_revisions import v2025_11_25, v2026_07_28
from mcp_revisions.v2026_07_28.ext.apps import AppsServer
from mcp_revisions.v2026_07_28.ext.skills import SkillsClient, SkillsServer
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer
from pydantic import BaseModel
from support.docs.pages import find_pieces
from support.folders import environment
from support.http.serving import run_app

TOKEN: Final = "0123456789abcdef"
ELSEWHERE: Final = re.compile(r"example\.|\burl\b")
"""Servers of examples: their clients are made, and not connected."""
ENDLESS: Final = re.compile(
    r"(?:await )?(app\.run|run_http|serve_stdio|serve|client\.subscriptions_listen)\("
)
"""These serve or listen without an end: it is tested that they take their arguments."""
WORD: Final = re.compile("[a-z]+")
"""The name of a member or a variable, of which a piece before it speaks."""


class Age(BaseModel):
    """The answer of a user."""

    years: int = 36


class Db:
    """The dependency of tools."""


def order(fruit: str = "apples", number: int = 1) -> str:
    """Order fruit."""
    return f"{number} {fruit}"


def stock() -> str:
    """Count the fruit."""
    return "12"


@asynccontextmanager
async def open_shop(app: object) -> AsyncGenerator[dict[str, int], None]:
    yield {"apples": 12}


class Program(NamedTuple):
    """The classes of a program: of one revision, with the extensions that the pages use."""

    mcp: Any
    app: Any
    client: Any

    def new_app(self) -> Any:
        app = self.app("shop", lifespan=open_shop)
        for name in ("order", "join"):
            app.add_tool(order, name=name)
        return app

    def served_app(self) -> Any:
        """Return an app with everything that pieces request."""
        app = self.new_app()
        app.add_resource(stock, uri="a://b")
        for name in ("a", "recipe"):
            app.add_prompt(order, name=name)
        return app

    def names(self) -> dict[str, Any]:
        """Return all names of the package, and the reader's variables."""
        m, uri = self.mcp.models, "a://b"
        text = m.TextContent(text="text")
        return {
            **{name: getattr(pkg, name) for name in vars(pkg)["__all__"]},
            "mcp": self.mcp,
            "m": m,
            "asyncio": asyncio,
            "Annotated": Annotated,
            "TasksServer": TasksServer,
            "TasksClient": TasksClient,
            "SkillsServer": SkillsServer,
            "SkillsClient": SkillsClient,
            "Age": Age,
            "Db": Db,
            "Order": str,
            "open_db": Db,
            "ask_age": Age,
            "open_shop": open_shop,
            "open_club": open_shop,
            "middleware": pass_on,
            "icon": m.Icon(src="data:,"),
            "annotations": None,
            "block": text,
            "data": b"data",
            "uri": uri,
            "text": "text",
            "id": "1",
            "code": -32000,
            "message": "no",
            "messages": [m.PromptMessage(role="user", content=text)],
            "contents": [m.TextResourceContents(uri=uri, text="text")],
            "verify": pkg.static_tokens({TOKEN: pkg.Principal("ada")}),
            "function": stock,
            "hosts": ["shop.example.com"],
            "origins": ["https://shop.example.com"],
            "own": "https://shop.example.com/mcp",
            "url": "https://shop.example.com/mcp",
            "server": "https://id.example.com",
            "servers": {},
            "show": print,
            "questions": {"roots": v2026_07_28.models.ListRootsRequest()},
            "state": None,
            "transport": None,
            "wanted": {},
            "other": self.app("other"),
            "app": self.new_app(),
            "v2025_11_25": v2025_11_25,
            "http": self.app("a").http(),
        }


async def pass_on(call: pkg.MethodCall, go_on: pkg.CallNext) -> Any:
    return await go_on(call)


class Answers:
    """The user, the model and the folders of a client."""

    TABLE: ClassVar[Any]
    DECLARES: ClassVar[Mapping[str, Any]] = {"elicitation": {"form": {}, "url": {}}}

    async def on_elicit(self, params: Any) -> Any:
        content = {"value": True, "years": 36}
        return self._models().ElicitResult(action="accept", content=content)

    async def on_create_message(self, params: Any) -> Any:
        text = self._models().TextContent(text="text")
        return self._models().CreateMessageResult(model="m", role="assistant", content=text)

    async def on_list_roots(self, params: Any = None) -> Any:
        return self._models().ListRootsResult(roots=[])

    def _models(self) -> Any:
        return pkg.load(self.TABLE.revision).models


class HandshakeClient(Answers, pkg.TaskCalls, v2025_11_25.Client):
    """What pieces with `client` use in 2025-11-25."""


class StatelessClient(Answers, TasksClient, SkillsClient, v2026_07_28.Client):
    """What pieces with `client` use in 2026-07-28."""


class StatelessApp(TasksServer, AppsServer, v2026_07_28.App):
    """An app with tasks and pages."""


PROGRAMS: Final = (
    Program(v2025_11_25, v2025_11_25.App, HandshakeClient),
    Program(v2026_07_28, StatelessApp, StatelessClient),
)


async def evaluate(piece: str, names: dict[str, Any]) -> None:
    """Run a piece of code; enter its value if that is a connection."""
    if endless := ENDLESS.match(piece):
        names["_bind"] = inspect.signature(eval(endless[1], names)).bind
        piece = f"_bind({piece[endless.end() :]}"
    source = complete_piece(piece)
    code = compile(source, piece, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    ran = eval(code, names)
    if inspect.iscoroutine(ran):
        await ran
    value = names.pop("_value", None)
    if isinstance(value, AbstractAsyncContextManager) and not ELSEWHERE.search(piece):
        async with cast(AbstractAsyncContextManager[object], value):
            pass


def complete_piece(piece: str) -> str:
    """Complete a piece to a program: a decorator needs a function, a parameter a tool."""
    if piece.startswith("@"):
        parameters = re.findall(r"{\+?(\w+)}", piece) + re.findall(r'completions={"(\w+)"', piece)
        first = ["request"] if "route(" in piece else [f"{name}: str" for name in parameters]
        return f"{piece}\nasync def made({', '.join(first)}):\n    '''Make it.'''"
    (statement,) = ast.parse(piece).body
    if isinstance(statement, ast.AnnAssign):
        return f"@app.tool\nasync def asks({piece}) -> None:\n    '''Ask.'''"
    return f"_value = {piece}" if isinstance(statement, ast.Expr) else piece


def write_server(folder: Path) -> None:
    """Write what the pieces read: a server, a configuration, files and skills."""
    setting = f"import sys; sys.path[:0] = {[*environment()['PYTHONPATH'].split(os.pathsep)]!r}"
    program = f"{setting}\nfrom mcp_revisions import v2025_11_25 as mcp\nmcp.App('a').run()\n"
    (folder / "server.py").write_text(program, encoding="utf-8")
    servers = {"mcpServers": {"a": {"command": sys.executable, "args": ["server.py"]}}}
    (folder / "mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    for name in ("a.png", "a.wav", "a.pdf"):
        (folder / name).write_bytes(b"data")
    (folder / "skills").mkdir()


async def run_pieces(program: Program, pieces: list[str]) -> dict[str, BaseException]:
    """Run each piece in a program; return the errors."""
    failed: dict[str, BaseException] = {}
    app = program.served_app()
    calls: list[pkg.MethodCall] = []

    async def note_call(call: pkg.MethodCall, go_on: pkg.CallNext) -> Any:
        calls.append(call)
        return await go_on(call)

    async def run_piece(piece: str, session: Any) -> None:
        m = program.mcp.models
        message = m.SamplingMessage(role="user", content=m.TextContent(text="text"))
        own = {"session": session, "app": app, "call": calls[-1], "messages": [message]}
        await evaluate(piece, program.names() | own)

    run_piece.__annotations__["session"] = program.mcp.Session
    app.add_tool(run_piece)
    app.middleware = [note_call]
    verify = pkg.static_tokens({TOKEN: pkg.Principal("ada")})
    http = app.http(http=pkg.HttpOptions(authentication=pkg.Authentication(verify=verify)))
    async with run_app(http) as port:
        authorized = {"Authorization": f"Bearer {TOKEN}"}
        url = f"http://127.0.0.1:{port}/mcp"
        async with pkg.connect_http(url, program.client(), headers=authorized) as client:
            result = await client.call_tool("order")
            for piece in pieces:
                try:
                    if re.search(r"\b(session|call)\b", piece.removeprefix("session: ")):
                        await client.call_tool("run_piece", {"piece": piece}, check=True)
                    else:
                        names = program.names() | {"client": client, "result": result}
                        await evaluate(piece, names)
                except Exception as error:
                    failed[piece] = error
    await http.close()
    return failed


@pytest.mark.parametrize(("name", "column"), [("from-fastmcp.md", 1), ("from-mcp-sdk.md", 2)])
async def test_piece_runs_in_some_revision(
    name: str, column: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pieces = [
        piece for piece in dict.fromkeys(find_pieces(name, column)) if not WORD.fullmatch(piece)
    ]
    write_server(tmp_path)
    failed: dict[str, list[BaseException]] = {}
    for program in PROGRAMS:
        errors = await run_pieces(program, pieces)
        pieces = [*errors]
        for piece, error in errors.items():
            failed.setdefault(piece, []).append(error)
    assert {piece: failed[piece] for piece in pieces} == {}
