"""Prompts and resources, whose arguments are texts with completions."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from logging import getLogger
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, to_json

from ..core.errors import INTERNAL_ERROR, InvalidParams, McpError, Problem, escape_step
from ..core.json import JSONObject, json_text, read_json
from ..core.many_errors import TOO_MUCH
from ..core.models.base import declared_member
from ..core.models.validation_errors import message_of
from ..core.options import MANY, has_long_paths
from ..core.sendable import Unsendable, sendable_text
from ..server.base import SessionBase
from .completions import Completer, completers
from .decorators import MarkedFunction
from .failures import BadArguments, ResourceNotFound, ToolError, closest
from .functions import Parameter, parameter_adapter
from .items import COMPLETE, Item, filter_members
from .revision_models import Media, RevisionModels, as_list, kinds_of, models_in, text_block
from .uri_templates import UriTemplate

_log: Final = getLogger(__name__)

_MOST: Final = 20


class Texts:
    """Text arguments; JSON for types that text cannot express."""

    def __init__(self, label: str, parameters: Sequence[Parameter]) -> None:
        self.parameters = {parameter.wire: parameter for parameter in parameters}
        self._adapters = {
            parameter.wire: parameter_adapter(label, parameter) for parameter in parameters
        }

    def read(self, texts: Mapping[str, str]) -> dict[str, Any]:
        unknown = islice((name for name in texts if name not in self.parameters), _MOST + 1)
        faults = [Problem(f"/{escape_step(name)}", "unknown argument") for name in unknown]
        read: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            try:
                read |= self._read(parameter, texts)
            except ValidationError as error:
                few = error.error_count() <= MANY
                lines = error.errors(include_url=False) if few else []
                texts_of = [message_of(line) for line in lines] or [TOO_MUCH]
                faults += [Problem(f"/{escape_step(name)}", text) for text in texts_of]
        if faults:
            raise BadArguments(list(dict.fromkeys(faults)), dict(texts), self.parameters)
        return read

    def _read(self, parameter: Parameter, texts: Mapping[str, str]) -> dict[str, Any]:
        text, default = texts.get(parameter.wire), parameter.default
        if text is not None:
            return {parameter.name: _from_text(self._adapters[parameter.wire], text)}
        if parameter.required:
            missing = InitErrorDetails(type="missing", loc=(), input=None)
            raise ValidationError.from_exception_data(parameter.wire, [missing])
        if isinstance(default, FieldInfo):
            return {parameter.name: default.get_default(call_default_factory=True)}
        return {}


def _from_text(adapter: TypeAdapter[Any], text: str) -> Any:
    try:
        return adapter.validate_strings(text)
    except ValidationError:
        try:
            decoded = read_json(text)
        except ValueError:
            decoded = text
        has_values = isinstance(decoded, dict | list)
        if isinstance(decoded, str | bool) or (has_values and has_long_paths(decoded)):
            # A typed text has no quotes, and `true` would be the member 1 of an enumeration.
            raise
        # For enumeration members and null: strict, or 1.0 would be read as true.
        return adapter.validate_json(to_json(decoded), strict=None if has_values else True)


class WithCompletions(Item):
    """An item with completions, whose failures are errors of the protocol."""

    texts: Texts
    completers: Mapping[str, Completer]

    def take(self, parameters: Sequence[Parameter]) -> None:
        label, given = self.signature.label, self.options.get("completions")
        self.texts = Texts(label, parameters)
        self.completers = completers(label, self.texts.parameters, given, self._marked.cls)

    async def value(self, server: object, session: SessionBase, given: Mapping[str, Any]) -> Any:
        try:
            return await self.run(server, session, given)
        except ToolError as error:
            # 2025-11-25, server/prompts and server/resources, "Error Handling".
            raise McpError(INTERNAL_ERROR, str(error)) from error

    async def complete(self, server: object, params: Any) -> Any:
        argument, parameters = params.argument, self.texts.parameters
        if argument.name not in parameters:
            meant = closest(argument.name, parameters)
            raise InvalidParams(f"{self.key} has no argument {argument.name}{meant}")
        completer = self.completers.get(argument.name) or Completer(())
        # The other arguments come with the request from 2025-06-18 on.
        context = declared_member(params, "context")
        known: dict[str, str] = (context and context.arguments) or {}
        result = self.models.results(COMPLETE)[0]
        (model,) = models_in(result, "completion")
        return result(completion=model(**await completer(server, argument.value, known)))


class Prompt(WithCompletions):
    def __init__(self, marked: MarkedFunction, models: RevisionModels) -> None:
        name = marked.mark.options.get("name") or marked.function.__name__
        super().__init__(marked, models, name, "prompts")
        self.take(self.signature.parameters)
        (model,) = models_in(models.entry(self.field), "arguments")
        arguments: list[JSONObject] = []
        for wire, parameter in self.texts.parameters.items():
            members: JSONObject = {"name": wire, "description": parameter.description}
            members |= {"title": parameter.info.title, "required": parameter.required}
            arguments.append(filter_members(model, members))
        self.listed = self.entry(name=self.key, arguments=arguments or None)

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        if method == COMPLETE:
            return await self.complete(server, params)
        try:
            given = self.texts.read(params.arguments or {})
        except BadArguments as error:
            raise error.refusal(self.key) from None
        value = await self.value(server, session, given)
        results = self.models.results("prompts/get")
        if isinstance(value, results):
            return value
        messages = [self._message(item) for item in as_list(value)]
        return results[0](messages=messages, description=self.description)

    def _message(self, value: Any) -> Any:
        models = self.models
        if isinstance(value, models.message):
            return value
        if isinstance(value, str):
            value = text_block(value)
        elif isinstance(value, Media):
            value = value.block(kinds_of(models.message_blocks))
        elif not isinstance(value, tuple(models.message_blocks)):
            must = "a prompt must return messages, content or text"
            raise TypeError(f"{self.key} returned {type(value).__name__}; {must}")
        return models.message(role="user", content=value)


class Resource(WithCompletions):
    def __init__(self, marked: MarkedFunction, models: RevisionModels) -> None:
        options = marked.mark.options
        uri = options["uri"]
        self.template = UriTemplate.parse(uri)
        field, member = "resources", "uri"
        if self.template.variables:
            field, member = "resource_templates", "uriTemplate"
        super().__init__(marked, models, uri, field)
        label, given = self.signature.label, self.signature.parameters
        for parameter in given:
            if parameter.name not in self.template.names:
                name = parameter.name
                wrong = f"the parameter {name} is not a variable of {uri}"
                advice = f"write {{{name}}} into the URI, or Depends(…) into its annotation"
                raise TypeError(f"{label}: {wrong}: {advice}")
        # Variables have the Python names of the parameters, not their aliases.
        self.take([replace(parameter, wire=parameter.name) for parameter in given])
        self._mime_type = options.get("mime_type")
        self.listed = self.entry(
            **{member: uri},
            name=options.get("name") or marked.function.__name__,
            mimeType=self._mime_type,
            size=options.get("size"),
        )

    def values(self, uri: str) -> dict[str, Any] | None:
        """Return the keyword arguments for a URI; None if it does not match."""
        texts = self.template.match(uri)
        try:
            return None if texts is None else self.texts.read(texts)
        except BadArguments:
            # If a variable does not fit its parameter's type, the resource does not exist.
            return None

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        if method == COMPLETE:
            return await self.complete(server, params)
        return await self.read(server, session, params.uri, self.values(params.uri) or {})

    async def read(
        self, server: object, session: SessionBase, uri: str, given: Mapping[str, Any]
    ) -> Any:
        models = self.models
        results = models.results("resources/read")
        try:
            value = await self.value(server, session, given)
        except ResourceNotFound:
            raise models.not_found(uri) from None
        if isinstance(value, results):
            return value
        classes, contents = tuple(models.contents.values()), as_list(value)
        # Any other list is one value, and its JSON is the contents.
        if not contents or not all(isinstance(content, classes) for content in contents):
            contents = [self._contents(value, uri)]
        return results[0](contents=contents)

    def _contents(self, value: Any, uri: str) -> Any:
        models, mime_type = self.models, self._mime_type
        if isinstance(value, Media):
            return value.contents(uri)
        if isinstance(value, (bytes, bytearray)):
            blob = b64encode(value).decode()
            return models.contents["blob"](uri=uri, blob=blob, mime_type=mime_type)
        if not isinstance(value, str):
            value, mime_type = self._json(value), mime_type or "application/json"
        return models.contents["text"](uri=uri, text=value, mime_type=mime_type)

    def _json(self, value: Any) -> str:
        try:
            return sendable_text(value, self.key).decode()
        except Unsendable as error:
            _log.warning("%s has null in place of a number: %s", self.key, error)
            return json_text(value).decode()
