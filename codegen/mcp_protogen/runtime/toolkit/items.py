"""Tools, prompts and resources: decorated functions as items of a list, and their calls.

What a class defines is built once for all instances. An instance that adds or removes something
gets a registry of its own.
"""

import re
from asyncio import to_thread
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import getattr_static, isawaitable, iscoroutinefunction, isroutine
from logging import getLogger
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.connection_errors import Disconnected
from ..core.errors import McpError, ProtocolError
from ..core.json import JSONObject, json_text
from ..core.models.base import WireModel
from ..core.models.validation_errors import problems
from ..core.schema_validation import Check, checker
from ..rules.param_headers import BadAnnotation, mirrors_of
from ..server.context import SessionBase
from .arguments import Arguments, BadArguments, Texts
from .completions import completers
from .decorators import Mark, Marked, PromptMark, ResourceMark, ToolMark, function_of, marks_of
from .results import UnfitResult, output_of
from .revision_models import RevisionModels, fields_of, models_in, several
from .signatures import Function, Parameter, Signature, check_shape, described, named, signature_of
from .uri_templates import UriTemplate

_log: Final = getLogger(__name__)

# The names of tools (2025-11-25, server/tools, "Tool Names").
_LONGEST: Final = 128
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_.-]")


class ToolError(Exception):
    """A failure whose text becomes the result of the tool, so that the model knows of it.

    The text of any other exception goes to the log only, because it may hold secrets.
    """


class ResourceNotFound(Exception):
    """The requested resource does not exist; for functions of resource templates."""


class Item:
    """A decorated function in one revision; raises `TypeError` if it cannot be used.

    `key` is the name or URI by which clients ask for it.
    """

    listed: Any
    """The entry in the list."""

    def __init__(self, marked: Marked, models: RevisionModels, key: str) -> None:
        self.key = key
        self.models = models
        self.signature = signature_of(marked.function, method=marked.is_method)
        self.description = marked.mark.description or described(marked.function)
        self._marked = marked

    def entry(self, model: type[WireModel], **members: Any) -> Any:
        """Return the entry of a list, with the members that the revision knows."""
        mark, where = self._marked.mark, self.signature.where
        members |= {
            "title": mark.title,
            "description": self.description,
            "icons": None if mark.icons is None else [icon.to_wire() for icon in mark.icons],
            "_meta": None if mark.meta is None else dict(mark.meta),
        }
        known = {field.alias or name for name, field in fields_of(model).items()}
        kept = {key: value for key, value in members.items() if value is not None and key in known}
        try:
            made = model.from_wire(kept)
            # An entry that cannot be written has to fail here, not when a client asks for the list.
            made.to_json()
            return made
        except PydanticSerializationError as error:
            raise TypeError(f"{where}: {error}") from error
        except ValidationError as error:
            wrong = "; ".join(f"{at}: {text}" for at, text in problems(error, kept))
            raise TypeError(f"{where}: {wrong}") from error

    async def run(self, server: object, session: SessionBase, given: Mapping[str, Any]) -> Any:
        function, mark, _, attribute = self._marked
        if attribute:
            function = getattr(server, attribute)
        if self.signature.sessions:
            given = {**given, **dict.fromkeys(self.signature.sessions, session)}
        returned = (
            await to_thread(_in_thread, function, given) if mark.thread else function(**given)
        )
        return await returned if isawaitable(returned) else returned


def _in_thread(function: Function, given: Mapping[str, Any]) -> Any:
    try:
        return function(**given)
    except StopIteration as error:
        # A future cannot hold StopIteration: the caller would wait for ever.
        raise RuntimeError(f"{named(function)} raised StopIteration") from error


ItemT = TypeVar("ItemT", bound=Item)


class Tool(Item):
    """A tool; raises also `ValueError`."""

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

    async def call(self, server: object, session: SessionBase, params: Any) -> Any:
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
            _log.exception("the tool %s failed", self.key)
            text = f"{self.key} failed."
        return self.models.tool_result(text, is_error=True)

    def _refused(self, session: SessionBase, error: BadArguments) -> Any:
        refusal = error.refusal(self.key)
        if session.__mcp_runtime__.rules.bad_arguments == "result":
            return self.models.tool_result(refusal.message, is_error=True)
        raise refusal from None


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


class Prompt(Item):
    def __init__(self, marked: Marked, mark: PromptMark, models: RevisionModels) -> None:
        super().__init__(marked, models, mark.name or marked.function.__name__)
        where = self.signature.where
        self.texts = Texts(where, self.signature.parameters)
        parameters = self.texts.parameters
        self.completers = completers(where, parameters, mark.completions, marked.cls)
        (model,) = models_in(models.result("prompts/list"), "prompts")
        arguments = [_argument(model, one) for one in parameters.values()]
        self.listed = self.entry(model, name=self.key, arguments=arguments or None)

    async def get(self, server: object, session: SessionBase, params: Any) -> Any:
        """Return the messages; raise `InvalidParams` for arguments that do not fit."""
        try:
            given = self.texts.read(params.arguments or {})
        except BadArguments as error:
            raise error.refusal(self.key) from None
        value = await self.run(server, session, given)
        if isinstance(value, self.models.results("prompts/get")):
            return value
        messages = [self._message(one) for one in several(value)]
        return self.models.result("prompts/get")(messages=messages, description=self.description)

    def _message(self, value: Any) -> Any:
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


class Resource(Item):
    """A resource, or a template."""

    def __init__(self, marked: Marked, mark: ResourceMark, models: RevisionModels) -> None:
        super().__init__(marked, models, mark.uri)
        where, given = self.signature.where, self.signature.parameters
        self.template = UriTemplate.parse(mark.uri)
        for one in given:
            if one.name not in self.template.names:
                raise TypeError(
                    f"{where}: the parameter {one.name} is not a variable of {mark.uri}"
                )
        # Variables have the names of the parameters in Python, not their aliases.
        self.texts = Texts(where, [replace(one, wire=one.name) for one in given])
        self.completers = completers(where, self.texts.parameters, mark.completions, marked.cls)
        self._mime_type = mark.mime_type
        method, field, uri = "resources/list", "resources", "uri"
        if self.template.variables:
            method, field, uri = "resources/templates/list", "resource_templates", "uriTemplate"
        (model,) = models_in(models.result(method), field)
        self.listed = self.entry(
            model,
            **{uri: mark.uri},
            name=mark.name or marked.function.__name__,
            mimeType=mark.mime_type,
            annotations=mark.annotations and mark.annotations.to_wire(),
            size=mark.size,
        )

    def values(self, uri: str) -> dict[str, Any] | None:
        """Return the keyword arguments for a URI, or None if the URI is not of this resource."""
        texts = self.template.match(uri)
        try:
            return None if texts is None else self.texts.read(texts)
        except BadArguments:
            # A variable that its parameter's type cannot read means that there is no such resource.
            return None

    async def read(
        self, server: object, session: SessionBase, uri: str, given: Mapping[str, Any]
    ) -> Any:
        """Return the result of reading a URI; raise `McpError` if there is no such resource."""
        models = self.models
        try:
            value = await self.run(server, session, given)
        except ResourceNotFound:
            raise not_found(uri, models) from None
        if isinstance(value, models.results("resources/read")):
            return value
        classes, contents = tuple(models.contents.values()), several(value)
        # Any other list is one value, and its JSON is the contents.
        if not contents or not all(isinstance(one, classes) for one in contents):
            contents = [self._contents(value, uri)]
        return models.result("resources/read")(contents=contents)

    def _contents(self, value: Any, uri: str) -> Any:
        models, mime_type = self.models, self._mime_type
        if isinstance(value, (bytes, bytearray)):
            blob = b64encode(value).decode("ascii")
            return models.contents["blob"](uri=uri, blob=blob, mime_type=mime_type)
        if not isinstance(value, str):
            value, mime_type = json_text(value).decode(), mime_type or "application/json"
        return models.contents["text"](uri=uri, text=value, mime_type=mime_type)


def not_found(uri: str, models: RevisionModels) -> McpError:
    """Return the error for a URI without a resource, with the code of the server's revision."""
    return McpError(models.rules.resource_not_found, "Resource not found", {"uri": uri})


class Registry:
    """What one server offers: its items by name or URI, in the order of registration."""

    def __init__(self, models: RevisionModels) -> None:
        self.models = models
        self.tools: dict[str, Tool] = {}
        self.prompts: dict[str, Prompt] = {}
        self.resources: dict[str, Resource] = {}
        self.templates: dict[str, Resource] = {}

    def copy(self) -> "Registry":
        copied = Registry(self.models)
        copied.tools, copied.prompts = dict(self.tools), dict(self.prompts)
        copied.resources, copied.templates = dict(self.resources), dict(self.templates)
        return copied

    @property
    def kinds(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """The items by the kind of list, which may change while clients are connected."""
        return {
            "tools": (self.tools,),
            "prompts": (self.prompts,),
            "resources": (self.resources, self.templates),
        }

    @property
    def completes(self) -> bool:
        items: list[Prompt | Resource] = [*self.prompts.values(), *self.templates.values()]
        return any(item.completers for item in items)

    def add(self, marked: Marked) -> None:
        """Register a function as its decorator says; raise `TypeError` and `ValueError`."""
        mark = marked.mark
        if isinstance(mark, ToolMark):
            _add(self.tools, Tool(marked, mark, self.models), "tool")
        elif isinstance(mark, PromptMark):
            _add(self.prompts, Prompt(marked, mark, self.models), "prompt")
        elif isinstance(mark, ResourceMark):
            resource = Resource(marked, mark, self.models)
            if resource.template.variables:
                _add(self.templates, resource, "resource template")
            else:
                _add(self.resources, resource, "resource")

    def remove(self, kind: str, key: str) -> None:
        """Remove an item; raise `LookupError` if there is none of that name or URI."""
        for items in self.kinds[kind]:
            if key in items:
                del items[key]
                return
        raise LookupError(f"there is no {kind.removesuffix('s')} {key}")


def _add(items: dict[str, ItemT], item: ItemT, what: str) -> None:
    if item.key in items:
        raise ValueError(f"there is already a {what} {item.key}")
    items[item.key] = item


def marked_in(cls: type[Any]) -> Iterator[Marked]:
    """Yield the decorated functions of a class.

    A function that overrides a decorated one is registered in its place; None in its place removes
    it.
    """
    marks: dict[str, tuple[Mark, ...]] = {}
    for base in reversed(cls.__mro__):
        for attribute, value in base.__dict__.items():
            marks[attribute] = marks_of(value) or marks.get(attribute, ())
    for attribute, listed in marks.items():
        found = getattr_static(cls, attribute, None) if listed else None
        if found is not None:
            yield from (Marked(function_of(found), mark, cls, attribute) for mark in listed)


def check(marked: Marked) -> None:
    """Raise `TypeError` or `ValueError` for a mark that cannot be right, whatever the types."""
    function, mark, _, attribute = marked
    where = named(function)
    if not isroutine(function):
        raise TypeError(f"{attribute or where}: {where} has a decorator, but is not a function")
    if mark.thread and iscoroutinefunction(function):
        raise TypeError(f"{where}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=marked.is_method)
    try:
        if isinstance(mark, ToolMark):
            tool_name(function, mark)
        elif isinstance(mark, ResourceMark):
            for variable in UriTemplate.parse(mark.uri).names:
                # Further parameters may be there: one of them may take the request context.
                if variable not in names:
                    raise TypeError(
                        f"{where}: {mark.uri} has {{{variable}}}, which is not a parameter"
                    )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
