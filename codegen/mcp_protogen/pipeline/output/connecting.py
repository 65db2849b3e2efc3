"""A conversation between the generated client and server of a revision; `importing` runs it.

They connect in memory; then the client lists a tool, calls it, and calls one that does not exist.
The interpreter has only the standard library, the package and its runtime.
"""

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_PATIENCE = 10.0  # seconds


def converse(package: ModuleType, runtime: str, revision: str) -> list[dict[str, str]]:
    """Return the failed steps of a conversation: revision, method, reason, pointer and part.

    `pointer` is the member in the schema, if known, and `part` the part of the package that fails;
    without one, nothing works.
    """
    conversation = _Conversation(package, runtime, revision)
    root = logging.getLogger()
    root.addHandler(conversation)
    try:
        asyncio.run(conversation.hold())
    finally:
        root.removeHandler(conversation)
    return conversation.failed


class _Conversation(logging.Handler):
    """A conversation, and what its log and its answers say of failures."""

    def __init__(self, package: ModuleType, runtime: str, revision: str) -> None:
        super().__init__()
        self._revision = next(known for known in package.REVISIONS if known.id == revision)
        self._module = self._revision.load()
        self._requests = self._module.methods.REQUESTS
        rules = self._module.methods.TABLE.rules
        self._list, self._call = rules.list_tools, rules.call_tool
        self._connect = import_module(f"{runtime}.testing").ConnectInMemory(package.__name__)
        self._errors = import_module(f"{runtime}.core.errors")
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
        has = {*self._module.__all__}
        if not {"Client", "Server"} <= has:
            return
        server, has_tools = self._module.Server(), False
        if "App" in has and self._call in self._requests:
            with self._step(self._list, "toolkit"):
                app = self._module.App("trial")
                app.tool(_greet)
                server, has_tools = app, True
        settings = {"revisions": [self._revision], "tap": self._read}
        opening = self._module.methods.TABLE.era.opened_by
        with self._step(opening, "" if opening in self._requests else "client and server"):
            if opening not in self._requests:
                raise LookupError("the schema lacks this request, which opens a connection")
            connecting = self._connect(server, self._module.Client(), **settings)
            async with asyncio.timeout(_PATIENCE), connecting as client:
                if has_tools:
                    await self._use_tools(client)

    async def _use_tools(self, client: Any) -> None:
        with self._step(self._list, "toolkit"):
            await self._expect("_greet", client, self._list)
        arguments = {"name": "Ada"}
        with self._step(self._call, "toolkit"):
            await self._expect("Hello, Ada", client, self._call, name="_greet", arguments=arguments)
        with self._step(self._call, "toolkit"):
            try:
                await self._expect("", client, self._call, name="unknown", arguments=arguments)
            except self._errors.McpError as error:
                if error.code == self._errors.INTERNAL_ERROR:
                    raise

    async def _expect(self, text: str, client: Any, method: str, **members: Any) -> None:
        """Send a request; raise `ValueError` if its result lacks a text."""
        spec = self._requests[method]
        params = spec.params(**members) if members or spec.params_required else None
        result = (await client.request(spec, params)).to_json().decode()
        if text not in result:
            raise ValueError(f"the answer lacks {text!r}: {result:.200}")

    @contextmanager
    def _step(self, method: str, part: str = "") -> Generator[None, None, None]:
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


def _explain(error: BaseException) -> tuple[str, str]:
    """Return the text of an error, and the pointer to the member at fault, if it names one."""
    from pydantic import ValidationError

    while error.__cause__:
        error = error.__cause__
    if not isinstance(error, ValidationError):
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        if frames and frames[0].filename == __file__:
            return str(error), ""
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
