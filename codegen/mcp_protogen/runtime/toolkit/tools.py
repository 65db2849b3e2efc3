"""Tools: the entry in the list, and the calls."""

from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final, Protocol

from ..core.errors import Disconnected, InvalidParams, ProtocolError
from ..core.json import JSONObject
from ..core.schema_validation import Check, checker
from ..http.param_headers import BadAnnotation, mirrors_of
from .arguments import Arguments, BadArguments
from .decorators import ToolMark
from .failures import ToolError
from .invoke import Function, Invocation
from .results import UnfitResult, output_of
from .revision_models import RevisionModels, listed, models_in, wire_of
from .signatures import Signature, described, signature_of
from .tool_names import check_tool_name

_log: Final = getLogger(__name__)


class _Reader(Protocol):
    """A reader of the arguments of one function."""

    def schema(self) -> JSONObject:
        """Return the input schema."""
        ...

    def read(self, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the keyword arguments for the call; raise `BadArguments`."""
        ...


class _AsTheyCome:
    """A reader for a handwritten schema: the function takes its arguments as one mapping."""

    def __init__(self, schema: Mapping[str, Any], check: Check, parameter: str) -> None:
        self._schema = dict(schema)
        self._check = check
        self._parameter = parameter

    def schema(self) -> JSONObject:
        return self._schema

    def read(self, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        found = self._check(arguments)
        if found:
            raise BadArguments(found, arguments)
        return {self._parameter: arguments}


class Tool:
    """One function as a tool in one revision; raises `TypeError` and `ValueError`."""

    __slots__ = ("_call", "_outcome", "_reader", "_words", "item", "key")

    def __init__(
        self, function: Function, mark: ToolMark, words: RevisionModels, *, method: bool
    ) -> None:
        signature = signature_of(function, method=method)
        self.key = name_of(function, mark)
        """The name of the tool."""
        self._words = words
        self._call = Invocation(signature, thread=mark.thread)
        self._reader = _reader(signature, mark)
        self._outcome = output_of(signature, mark, words)
        self.item = self._listed(signature.where, function, mark)
        """The entry in `tools/list`."""

    def _listed(self, where: str, function: Function, mark: ToolMark) -> Any:
        schema = self._reader.schema()
        try:
            mirrors_of(schema)
        except BadAnnotation as error:
            # Over HTTP, clients would have to leave such a tool out of the list.
            raise ValueError(f"{where}: the input schema at {error}") from error
        (model,) = models_in(self._words.result("tools/list"), "tools")
        return listed(
            model,
            where,
            mark,
            name=self.key,
            description=mark.description or described(function),
            inputSchema=schema,
            outputSchema=self._outcome.schema,
            annotations=wire_of(mark.annotations),
        )

    async def call(self, function: Function, session: Any, params: Any) -> Any:
        """Return the result of a call; raise `ProtocolError` for an error of the protocol."""
        try:
            given = self._reader.read(params.arguments or {})
            return self._outcome.result(await self._call(function, session, given))
        except BadArguments as error:
            return self._refused(session, error)
        except (ProtocolError, Disconnected):
            raise
        except ToolError as error:
            return self._words.failed(str(error))
        except UnfitResult as error:
            _log.error(
                "the tool %s returned a value that its schema does not allow: %s", self.key, error
            )
            return self._words.failed(
                f"{self.key} returned a value that its output schema does not allow."
            )
        except Exception:
            # The client learns only that something failed, because the text of an exception may
            # hold secrets.
            _log.exception("the tool %s failed", self.key)
            return self._words.failed(f"{self.key} failed.")

    def _refused(self, session: Any, error: BadArguments) -> Any:
        text = f"Invalid arguments for {self.key}:\n{error}"
        if session.__mcp_runtime__.rules.bad_arguments == "result":
            return self._words.failed(text)
        problems = [(f"/params/arguments{at}", message) for at, message in error.problems]
        raise InvalidParams(text, problems) from None


def name_of(function: Function, mark: ToolMark) -> str:
    """Return the name of a tool; raise `ValueError` if it is not allowed."""
    name = function.__name__ if mark.name is None else mark.name
    check_tool_name(name)
    return name


def _reader(signature: Signature, mark: ToolMark) -> _Reader:
    if mark.input_schema is None:
        return Arguments(signature)
    if len(signature.parameters) != 1:
        wants = "one parameter for all arguments, and optionally one for the session"
        raise TypeError(f"{signature.where}: with a handwritten schema it takes {wants}")
    check = checker(mark.input_schema, f"{signature.where}: the input schema", of_objects=True)
    return _AsTheyCome(mark.input_schema, check, signature.parameters[0].name)
