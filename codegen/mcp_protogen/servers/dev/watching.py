"""The files of a server, watched for edits by watchfiles."""

from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.inspect.server import server_of

_PYTHON: Final = (".py", ".pyw")


class WatchedFiles:
    """The folder of a server's script, and further paths.

    In the folder of a script of Python, only files of Python count. Files in `.venv`, `.git`,
    `__pycache__` and the like never do.
    """

    def __init__(self, server: NamedServer, more: Sequence[Path]) -> None:
        """Raise `ProblemError`: `missing-package`, or `wrong-usage` if nothing can be watched."""
        if find_spec("watchfiles") is None:
            hint = "install it, or install mcp-gen with its extra watch"
            problem = Problem("missing-package", "dev needs the package watchfiles", hint=hint)
            raise ProblemError(problem)
        script = _script(server)
        if script is None and not more:
            message = f"the command line of {server.safe_text} has no file to watch"
            hint = "name a folder to watch with --watch PATH"
            raise ProblemError(Problem("wrong-usage", message, hint=hint))
        for path in more:
            if not path.exists():
                message = f"--watch names {path}, which does not exist"
                raise ProblemError(Problem("wrong-usage", message))
        self._is_python = script is not None and script.suffix in _PYTHON
        self._folder = None if script is None else script.resolve().parent
        self._more = tuple(path.resolve() for path in more)

    @property
    def paths(self) -> Sequence[Path]:
        """The files and folders that are watched."""
        return (*self._more, *filter(None, [self._folder]))

    async def changes(self) -> AsyncIterator[Sequence[str]]:
        """Yield the names of files that have changed, soon after the last change."""
        import watchfiles

        # Its types name those of trio, which need not be installed.
        watch: Any = watchfiles
        every, python = watchfiles.DefaultFilter(), watchfiles.PythonFilter()

        def is_wanted(change: Any, path: str) -> bool:
            is_named = any(Path(path).is_relative_to(named) for named in self._more)
            return (python if self._is_python and not is_named else every)(change, path)

        async for changes in watch.awatch(*self.paths, watch_filter=is_wanted):
            yield sorted({Path(path).name for _, path in changes})


def _script(server: NamedServer) -> Path | None:
    """Return the script in a command line, if it has one.

    Raise `ProblemError` for a server with a URL, and as `NamedServer.opener` does.
    """
    described = server_of(server)
    if described.url:
        message = f"{server.safe_text} is a URL, and dev starts programs"
        hint = "give the command line that starts it"
        raise ProblemError(Problem("wrong-usage", message, hint=hint))
    files = ((described.cwd or Path()) / word for word in described.words[1:])
    return next((file for file in files if file.is_file()), None)
