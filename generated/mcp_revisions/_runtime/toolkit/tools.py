"""Tools: the entry in the list, and the calls."""

import re
from collections.abc import Mapping
from logging import getLogger
from typing import Any, Final

from ..core.errors import Disconnected, InvalidParams, ProtocolError
from ..core.json import JSONObject
from ..core.schema_validation import Check, checker
from ..http.param_headers import BadAnnotation, mirrors_of
from .arguments import Arguments, BadArguments
from .decorators import Marked, ToolMark
from .items import Item
from .results import UnfitResult, output_of
from .revision_models import RevisionModels, models_in
from .signatures import Function, Signature

_log: Final = getLogger(__name__)

_LONGEST: Final = 128
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_.-]")


class ToolError(Exception):
    """A failure that the model should know of: its text becomes the result of the tool.

    The text of any other exception goes to the log only, because it may hold secrets.
    """


class Tool(Item):
    """One function as a tool in one revision; raises `TypeError` and `ValueError`."""

    def __init__(self, marked: Marked, mark: ToolMark, models: RevisionModels) -> None:
        super().__init__(marked, models, tool_name(marked.function, mark))
        self._arguments = _arguments(self.signature, mark)
        self._output = output_of(self.signature, mark, models)
        schema = self._arguments.schema
        try:
            mirrors_of(schema)
        except BadAnnotation as error:
            # Over HTTP, clients would have to leave such a tool out of the list.
            raise ValueError(f"{self.signature.where}: the input schema at {error}") from error
        (model,) = models_in(models.result("tools/list"), "tools")
        self.listed = self.entry(
            model,
            name=self.key,
            inputSchema=schema,
            outputSchema=self._output.schema,
            annotations=mark.annotations and mark.annotations.to_wire(),
        )

    async def call(self, server: object, session: Any, params: Any) -> Any:
        """Return the result of a call; raise `ProtocolError` for an error of the protocol."""
        try:
            given = self._arguments.read(params.arguments or {})
            return self._output.result(await self.run(server, session, given))
        except BadArguments as error:
            return self._refused(session, error)
        except (ProtocolError, Disconnected):
            raise
        except ToolError as error:
            text = str(error)
        except UnfitResult as error:
            _log.error(
                "the tool %s returned a value that its schema does not allow: %s", self.key, error
            )
            text = f"{self.key} returned a value that its output schema does not allow."
        except Exception:
            # The client learns only that something failed, because the text of an exception may
            # hold secrets.
            _log.exception("the tool %s failed", self.key)
            text = f"{self.key} failed."
        return self.models.tool_result(text, is_error=True)

    def _refused(self, session: Any, error: BadArguments) -> Any:
        text = f"Invalid arguments for {self.key}:\n{error}"
        if session.__mcp_runtime__.rules.bad_arguments == "result":
            return self.models.tool_result(text, is_error=True)
        raise InvalidParams(text, error.in_params) from None


class _ByHand:
    """The arguments of a function with a handwritten schema: it takes them as one mapping."""

    def __init__(self, schema: JSONObject, check: Check, parameter: str) -> None:
        self.schema = schema
        self._check = check
        self._parameter = parameter

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = self._check(arguments)
        if found:
            raise BadArguments(found, arguments)
        return {self._parameter: arguments}


def _arguments(signature: Signature, mark: ToolMark) -> Arguments | _ByHand:
    if mark.input_schema is None:
        return Arguments(signature)
    if len(signature.parameters) != 1:
        wants = "one parameter for all arguments, and optionally one for the session"
        raise TypeError(f"{signature.where}: with a handwritten schema it takes {wants}")
    check = checker(mark.input_schema, f"{signature.where}: the input schema", of_objects=True)
    return _ByHand(dict(mark.input_schema), check, signature.parameters[0].name)


def tool_name(function: Function, mark: ToolMark) -> str:
    """Return the name of a tool; raise `ValueError` if it is not allowed.

    The specification says SHOULD (2025-11-25, server/tools, "Tool Names"). Here it is a rule,
    because clients refuse other names or change them, each in its own way.
    """
    name: str = function.__name__ if mark.name is None else mark.name
    if not 1 <= len(name) <= _LONGEST:
        raise ValueError(f"the name of a tool has 1 to {_LONGEST} characters, not {len(name)}")
    wrong = _NOT_ALLOWED.search(name)
    if wrong is not None:
        allowed = "ASCII letters and digits, underscores, hyphens and dots"
        raise ValueError(f"the tool name {name!r} contains {wrong[0]!r}; allowed are {allowed}")
    return name
