"""Prompts: the entry in the list, and the messages that a client gets."""

from typing import Any

from ..core.errors import InvalidParams
from ..core.json import JSONObject
from .arguments import BadArguments, Texts
from .completions import Look, completers
from .decorators import PromptMark
from .invoke import Function, Invocation
from .revision_models import RevisionModels, fields_of, listed, models_in, several
from .signatures import Parameter, described, signature_of

_GET = "prompts/get"


class Prompt:
    """One function as a prompt in one revision; raises `TypeError` if it cannot be one."""

    __slots__ = (
        "_call",
        "_description",
        "_texts",
        "_words",
        "completers",
        "item",
        "key",
        "parameters",
    )

    def __init__(
        self,
        function: Function,
        mark: PromptMark,
        words: RevisionModels,
        *,
        method: bool,
        look: Look,
    ) -> None:
        signature = signature_of(function, method=method)
        self.key = mark.name or function.__name__
        """The name of the prompt."""
        self._words = words
        self._texts = Texts(signature.where, signature.parameters)
        self._call = Invocation(signature, thread=mark.thread)
        self._description = mark.description or described(function)
        parameters = self._texts.parameters
        self.parameters = frozenset(parameters)
        """The names of the arguments, as clients use them."""
        self.completers = completers(signature.where, parameters, mark.completions, look)
        (model,) = models_in(words.result("prompts/list"), "prompts")
        self.item = listed(
            model,
            signature.where,
            mark,
            name=self.key,
            description=self._description,
            arguments=[_argument(model, one) for one in parameters.values()] or None,
        )
        """The entry in `prompts/list`."""

    async def get(self, function: Function, session: Any, params: Any) -> Any:
        """Return the messages for these arguments; raise `InvalidParams` if they do not fit."""
        try:
            given = self._texts.read(params.arguments or {})
        except BadArguments as error:
            problems = [(f"/params/arguments{at}", message) for at, message in error.problems]
            raise InvalidParams(f"Invalid arguments for {self.key}:\n{error}", problems) from None
        value = await self._call(function, session, given)
        words = self._words
        if isinstance(value, words.result_classes(_GET)):
            return value
        messages = [self._message(one) for one in several(value)]
        return words.result(_GET)(messages=messages, description=self._description)

    def _message(self, value: Any) -> Any:
        """Return a value as a message, with the role user unless it names another."""
        words = self._words
        if isinstance(value, words.message):
            return value
        if isinstance(value, str):
            value = words.text(text=value)
        if not isinstance(value, tuple(words.message_blocks)):
            raise TypeError(f"{self.key} returned {type(value).__name__}, which is not a message")
        return words.message(role="user", content=value)


def _argument(prompt: type[Any], parameter: Parameter) -> JSONObject:
    (model,) = models_in(prompt, "arguments")
    said = {
        "name": parameter.wire,
        "description": parameter.info.description,
        "title": parameter.info.title,
        "required": parameter.required,
    }
    known = {name: one for name, one in said.items() if one is not None}
    return {name: one for name, one in known.items() if name in fields_of(model)}
