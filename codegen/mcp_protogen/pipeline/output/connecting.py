"""A conversation between the generated client and server of a revision; `importing` runs it.

They connect in memory; then the client lists a tool, calls it, calls one that does not exist, and
calls one as a task.
Where a package has only one of them, the other one is its base in the runtime.
The interpreter has only the standard library, the package and its runtime.
"""

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

_PATIENCE = 10.0  # seconds
_SLOW = "greet_later"


def converse(package: ModuleType, runtime: str, revision: str) -> list[dict[str, str]]:
    """Return the failed steps of a conversation: revision, method, reason, pointer and part.

    `pointer` is the member in the schema, if known, and `part` the part of the package that fails;
    without one, nothing works.
    """
    conversation = _Conversation(package, runtime, revision)
    root = logging.getLogger()
    root.addHandler(conversation)
    try:
        with conversation.step(""):
            asyncio.run(conversation.hold())
    finally:
        root.removeHandler(conversation)
    return conversation.failed


class _Conversation(logging.Handler):
    """A conversation, and what its log and its answers say of failures."""

    def __init__(self, package: ModuleType, runtime: str, revision: str) -> None:
        super().__init__()
        self._package, self._runtime = package, runtime
        self._revision = next(known for known in package.REVISIONS if known.id == revision)
        self._module: Any = None
        self._requests: dict[str, Any] = {}
        self._list, self._call = "", ""
        self._logged: BaseException | None = None
        self._answer: dict[str, Any] = {}
        self.failed: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception of a log entry."""
        self._logged = (record.exc_info and record.exc_info[1]) or self._logged

    def _read(self, sender: str, message: bytes) -> None:
        """Keep the error in an answer."""
        self._answer = json.loads(message).get("error") or self._answer

    async def hold(self) -> None:
        """Take the steps that are possible with the parts of the package."""
        self._module = self._revision.load()
        has = {*self._module.__all__}
        if has.isdisjoint(("Client", "Server")):
            return
        self._requests = self._module.methods.REQUESTS
        if "Server" in has:
            self._find_unserved()
        table = self._module.methods.TABLE
        self._list, self._call = table.name_of("tools/list"), table.name_of("tools/call")
        opening: str = self._module.methods.TABLE.era.opened_by
        with self.step(opening):
            self._require(opening)
            settings: dict[str, Any] = {"revisions": [self._revision], "tap": self._read}
            client, server, has_tools = self._make("client"), self._make("server"), False
            if "App" in has and self._call in self._requests:
                with self.step(self._list, "toolkit"):
                    self._require(self._list)
                    app = self._module.App("trial")
                    app.tool(_greet)
                    server, has_tools = app, True
            bases = self._task_bases("Client") if has_tools and "Client" in has else ()
            if bases:
                with self.step(self._call, "tasks"):
                    server, client = self._make_for_tasks(bases)
                    soon = self._package.TaskOptions(poll_interval=0.05)
                    settings["options"] = self._package.Options(tasks=soon)
            testing = import_module(f"{self._runtime}.testing")
            connect = testing.ConnectInMemory(self._package.__name__)
            connecting = connect(server, client, **settings)
            async with asyncio.timeout(_PATIENCE), connecting as client:
                if has_tools:
                    await self._use_tools(client)
                if isinstance(client, bases):
                    await self._use_task(client)

    def _make_for_tasks(self, bases: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return a server with a tool that may be a task, and a client with these bases."""
        apps = (*self._task_bases("Server"), self._module.App)
        server = type("App", apps, {})("trial")
        server.tool(_greet)
        server.tool(_greet, name=_SLOW, task=True)
        return server, type("Client", (*bases, self._module.Client), {})()

    def _task_bases(self, role: str) -> tuple[Any, ...]:
        """Return the bases of a client or server for tasks, as far as the package has them."""
        extension = self._module.__mcp_part__("tasks")
        if extension is not None:
            return (getattr(extension, f"Tasks{role}"),)
        if role == "Client" and hasattr(self._module.Client, "get_task"):
            with suppress(ImportError):  # without the part tasks
                return (self._package.TaskCalls,)
        return ()

    def _find_unserved(self) -> None:
        """Note renamed methods that servers answer by themselves, under their first names alone."""
        built_in = import_module(f"{self._runtime}.server.connection").BUILT_IN
        for spec in self._requests.values():
            if spec.known_as in built_in and spec.known_as != spec.method:
                with self.step(spec.method, "server"):
                    why = f"it answers {spec.known_as} under this name alone"
                    raise _UnexpectedError(why, _pointer("ClientRequest"))

    def _make(self, role: str) -> Any:
        """Return a client or server: the generated one, or its base with the table alone."""
        name, module = role.capitalize(), f"{self._module.__name__}.{role}"
        if name in self._module.__all__:
            return getattr(self._module, name)()
        base = import_module(f"{self._runtime}.{role}.base")
        members = {"TABLE": self._module.methods.TABLE, "__module__": module}
        if role == "server":
            members["SESSION"] = type("Session", (base.SessionBase,), members)
        return type(name, (getattr(base, f"{name}Base"),), members)()

    def _require(self, method: str) -> None:
        if method not in self._requests:
            raise _UnexpectedError("the schema lacks this request", _pointer("ClientRequest"))

    async def _use_tools(self, client: Any) -> None:
        with self.step(self._list, "toolkit"):
            await self._expect("_greet", client, self._list)
        arguments = {"name": "Ada"}
        with self.step(self._call, "toolkit"):
            await self._expect("Hello, Ada", client, self._call, name="_greet", arguments=arguments)
        errors = import_module(f"{self._runtime}.core.errors")
        with self.step(self._call, "toolkit"):
            try:
                await self._expect("", client, self._call, name="unknown", arguments=arguments)
            except errors.McpError as error:
                if error.code == errors.INTERNAL_ERROR:
                    raise

    async def _use_task(self, client: Any) -> None:
        with self.step(self._call, "tasks"):
            handle = await client.start_task(_SLOW, {"name": "Ada"})
            _require_text("Hello, Ada", await handle.result())

    async def _expect(self, text: str, client: Any, method: str, **members: Any) -> None:
        """Send a request, whose result must have a text."""
        spec = self._requests[method]
        params = spec.params(**members) if members or spec.params_required else None
        _require_text(text, await client.request(spec, params))

    @contextmanager
    def step(self, method: str, part: str = "") -> Generator[None, None, None]:
        """Note the failure of a step; without a part, no connection is opened."""
        self._logged, self._answer = None, {}
        try:
            yield
        except Exception as error:
            reason, pointer = _explain(error)
            if self._logged:
                reason, pointer = _explain(self._logged)
            elif self._answer:
                reason, pointer = self._explain_answer(method)
            step = {"revision": self._revision.id, "method": method, "part": part}
            step |= {"reason": reason, "pointer": pointer}
            if step not in self.failed:
                self.failed.append(step)

    def _explain_answer(self, method: str) -> tuple[str, str]:
        """Return the text of an error in an answer, and the pointer to the member at fault."""
        data: dict[str, Any] = self._answer.get("data") or {}
        problems: list[dict[str, str]] = data.get("problems", [])
        texts = (f"{problem['pointer']}: {problem['message']}" for problem in problems)
        # The first one may be about the params as a whole.
        member = problems[0]["pointer"].split("/")[2:3] if problems else []
        owner: str = self._requests[method].params.__name__
        pointer = _pointer(owner, *member) if problems else ""
        return "; ".join((self._answer["message"], *texts)), pointer


def _require_text(text: str, result: Any) -> None:
    content = result.to_json().decode()
    if text not in content:
        raise _UnexpectedError(f"the answer lacks {text!r}: {content:.200}", "")


class _UnexpectedError(Exception):
    """A fault that the conversation itself finds: its text, and the pointer to its place."""


def _explain(error: BaseException) -> tuple[str, str]:
    """Return the text of an error, and the pointer to the member at fault, if it names one."""
    from pydantic import ValidationError

    while error.__cause__:
        error = error.__cause__
    if isinstance(error, _UnexpectedError):
        return error.args
    if not isinstance(error, ValidationError):
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        places = (f" ({os.path.basename(frame.filename)}:{frame.lineno})" for frame in frames)
        return f"{type(error).__name__}: {error}" + "".join(places), ""
    first = error.errors()[0]
    steps = [str(step).replace("~", "~0").replace("/", "~1") for step in first["loc"]]
    return "/".join((error.title, *steps)) + f": {first['msg']}", _pointer(error.title, *steps[:1])


def _pointer(definition: str, member: str = "") -> str:
    return f"/$defs/{definition}" + (f"/properties/{member}" if member else "")


async def _greet(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}"
