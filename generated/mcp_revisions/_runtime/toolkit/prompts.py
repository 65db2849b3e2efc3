"""Prompts: the entry in the list, and the messages that a client gets."""

from typing import Any

from ..core.errors import InvalidParams
from ..core.json import JSONObject
from .arguments import BadArguments, Texts
from .completions import completers
from .decorators import Marked, PromptMark
from .items import Item
from .revision_models import RevisionModels, fields_of, models_in, several
from .signatures import Parameter

_GET = "prompts/get"


class Prompt(Item):
    """One function as a prompt in one revision; raises `TypeError` if it cannot be one."""

    def __init__(self, marked: Marked, mark: PromptMark, models: RevisionModels) -> None:
        super().__init__(marked, models, mark.name or marked.function.__name__)
        where = self.signature.where
        self.texts = Texts(where, self.signature.parameters)
        parameters = self.texts.parameters
        self.completers = completers(where, parameters, mark.completions, marked.cls)
        (model,) = models_in(models.result("prompts/list"), "prompts")
        arguments = [_argument(model, one) for one in parameters.values()]
        self.listed = self.entry(model, name=self.key, arguments=arguments or None)

    async def get(self, server: object, session: Any, params: Any) -> Any:
        """Return the messages for these arguments; raise `InvalidParams` if they do not fit."""
        try:
            given = self.texts.read(params.arguments or {})
        except BadArguments as error:
            text = f"Invalid arguments for {self.key}:\n{error}"
            raise InvalidParams(text, error.in_params) from None
        value = await self.run(server, session, given)
        if isinstance(value, self.models.result_classes(_GET)):
            return value
        messages = [self._message(one) for one in several(value)]
        return self.models.result(_GET)(messages=messages, description=self.description)

    def _message(self, value: Any) -> Any:
        """Return a value as a message, with the role user unless it names another."""
        models = self.models
        if isinstance(value, models.message):
            return value
        if isinstance(value, str):
            value = models.text(text=value)
        if not isinstance(value, tuple(models.message_blocks)):
            raise TypeError(f"{self.key} returned {type(value).__name__}, which is not a message")
        return models.message(role="user", content=value)


def _argument(prompt: type[Any], parameter: Parameter) -> JSONObject:
    (model,) = models_in(prompt, "arguments")
    members = {
        "name": parameter.wire,
        "description": parameter.info.description,
        "title": parameter.info.title,
        "required": parameter.required,
    }
    known = fields_of(model)
    return {key: one for key, one in members.items() if one is not None and key in known}
