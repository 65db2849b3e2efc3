"""The servers of `examples/`: loaded within tests, and counted."""

import ast
import io
import re
import tokenize
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, Final

from support.folders import ROOT
from support.generated.golden_package import PACKAGE
from support.revisions import REVISIONS
from support.sessions.talking import client, pkg

EXAMPLES: Final = ROOT / "examples"
SERVERS: Final = tuple(sorted(path.stem for path in EXAMPLES.glob("*_server.py")))
EDGES: Final = (REVISIONS[0], REVISIONS[-1])
"""The oldest revision and the newest."""

_LAYOUT: Final = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def source(name: str) -> str:
    """Return the program of a server, with the committed package in place of the user's."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    return text.replace("from pkg", f"from {PACKAGE.name}")


def load_server(name: str) -> Any:
    """Load a server as a new module, untouched by other tests."""
    module = ModuleType(name)
    module.__file__ = str(EXAMPLES / f"{name}.py")
    exec(compile(source(name), module.__file__, "exec"), vars(module))
    return module


@asynccontextmanager
async def using(app: Any, revision: str, **members: Any) -> AsyncGenerator[Any, None]:
    """Connect a client of a revision, which has these handlers, to an app in this process."""
    async with pkg.connect_in_memory(client(revision, **members), app) as connected:
        yield connected


async def failure(client: Any, tool: str, /, **arguments: Any) -> str:
    """Return the message of a failing tool, from a result or from the error of older revisions."""
    try:
        result = await client.call_tool(tool, arguments)
    except pkg.McpError as error:
        return str(error)
    assert result.is_error
    return str(result.text)


def code_lines(text: str, *, of: str = "py") -> int:
    """Count the lines of code, without docstrings and comments."""
    if of == "ts":
        lines = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).splitlines()
        return sum(1 for line in lines if not re.match(r"\s*(//|#!|$)", line))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        # A text alone is a docstring.
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=last):
                found -= set(range(first, (last or first) + 1))
            case _:
                pass
    return len(found)
