"""Tools, prompts and resources: decorated functions as items of a list, and their calls.

What a class defines is built once for all instances. An instance that adds or removes something
gets lists of its own.
"""

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from inspect import getattr_static, getdoc, isawaitable, iscoroutinefunction, isroutine, unwrap
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.connection_errors import Disconnected
from ..core.errors import INTERNAL_ERROR, InvalidParams, McpError, ProtocolError
from ..core.json import JSONObject, json_text
from ..core.models.base import WireModel, declared
from ..core.models.validation_errors import problems
from ..core.oauth_scopes import checked_scopes
from ..core.sendable import Unsendable, sendable_text
from ..rules.param_headers import BadAnnotation, mirrors_of
from ..server.base import SessionBase
from .completions import Completer, completers
from .decorators import Mark, Marked, ToolOptions, function_of, marks_of
from .dependencies import split, with_dependencies
from .functions import (
    Arguments,
    BadArguments,
    Function,
    Signature,
    Texts,
    check_shape,
    closest,
    named,
    signature_of,
)
from .media import Media
from .results import NotJsonResult, UnfitResult, output_of
from .revision_models import RevisionModels, fields_of, models_in, several, text_block
from .uri_templates import UriTemplate

if TYPE_CHECKING:
    from .task_options import TaskMode

_log: Final = getLogger(__name__)

# The names of tools (2025-11-25, server/tools, "Tool Names").
_LONGEST: Final = 128
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_.-]")

COMPLETE: Final = "completion/complete"

_PLAIN: Final = (str, dict, list, int)  # `isawaitable` takes longer than most functions


class ToolError(Exception):
    """A failure whose text becomes the result of the tool, so that the model knows of it.

    Of a prompt or a resource, which have no such results, it becomes the message of an error. The
    text of any other exception goes to the log only, because it may hold secrets.
    """


class ResourceNotFound(Exception):
    """The requested resource does not exist; for functions of resource templates."""


class Item(ABC):
    """A decorated function in one revision; raises `TypeError` if it cannot be used.

    `key` is the name or URI by which clients ask for it, `field` that of its list in a result.
    """

    listed: Any
    """The entry in the list."""

    def __init__(self, marked: Marked, models: RevisionModels, key: str, field: str) -> None:
        self.key = key
        self.field = field
        self.models = models
        signature = signature_of(marked.function, method=marked.is_method)
        self.signature, filled = split(signature)
        self.options, where = marked.mark.options, signature.where
        tags, self.enabled = self.options.get("tags", ()), self.options.get("enabled", True)
        if isinstance(tags, str):
            raise TypeError(f"{where}: tags are one text: write tags={{{tags!r}}}")
        if not isinstance(self.enabled, bool) and not callable(self.enabled):
            raise TypeError(f"{where}: enabled is True, False or a function of the session")
        self.tags = frozenset(tags)
        self.task: TaskMode | None = None
        if "task" in self.options:
            from .task_options import task_mode

            self.task = task_mode(self.options, where)
        self.scopes = checked_scopes(self.options.get("scopes", ()), where)
        # Where arguments have no descriptions of their own, the docstring is left as it is.
        is_whole = not self.options.keys().isdisjoint(("input_schema", "uri"))
        documented = getdoc(marked.function) if is_whole else self.signature.description
        self.description = self.options.get("description") or documented or None
        self._marked = marked
        # A wrapper of a coroutine function most often returns its coroutine, and waits for nothing.
        is_plain = not iscoroutinefunction(unwrap(marked.function))
        self._threaded: bool = self.options.get("thread", is_plain)
        if filled:
            # Decided here, so that no other call takes a further step.
            vars(self)["run"] = with_dependencies(self.run, filled, threaded=self._threaded)
        if self.scopes:
            vars(self)["run"] = _requiring(self.scopes, self.run)

    def listed_for(self, session: SessionBase) -> Any:
        """Return the entry in the list of a session."""
        return self.listed

    # No abstract method: most items need nothing.
    def check_offered(self, owns: Callable[[str], bool]) -> None:  # noqa: B027
        """Raise `ValueError` if it needs a resource that its server, which `owns` some, has not."""

    @abstractmethod
    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        """Return the result of a request that is about it."""

    def entry(self, **members: Any) -> Any:
        options, where = self.options, self.signature.where
        icons, meta, annotations = map(options.get, ("icons", "meta", "annotations"))
        members |= {
            "title": options.get("title"),
            "description": self.description,
            "icons": None if icons is None else [icon.to_wire() for icon in icons],
            "annotations": annotations and annotations.to_wire(),
            "_meta": None if meta is None else dict(meta),
        }
        model = self.models.entry(self.field)
        kept = _known(model, members)
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

    async def run(
        self,
        server: Any,
        session: SessionBase,
        given: Mapping[str, Any],
        around: Callable[[Function], Function] | None = None,
        /,
    ) -> Any:
        function, _, _, attribute = self._marked
        if attribute:
            function = getattr(server, attribute)
        if self.signature.sessions:
            given = {**given, **dict.fromkeys(self.signature.sessions, session)}
        if around is not None:
            function = around(function)
        if self._threaded:
            returned = await server.__mcp_runtime__.threads.run(function, given, session)
        else:
            returned = function(**given)
        may_wait = type(returned) not in _PLAIN and isawaitable(returned)
        return await returned if may_wait else returned


def _requiring(scopes: frozenset[str], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run` for requests that have the scopes.

    That was asked before, by the name that came. Middleware may have put another one in its place.
    """

    async def checked(server: Any, session: SessionBase, *given: Any) -> Any:
        session.require_scopes(*scopes)
        return await run(server, session, *given)

    return checked


def _known(model: type[WireModel], members: Mapping[str, Any]) -> JSONObject:
    known = {field.alias or name for name, field in fields_of(model).items()}
    return {key: value for key, value in members.items() if value is not None and key in known}


class Tool(Item):
    """A tool; raises also `ValueError`."""

    def __init__(self, marked: Marked, models: RevisionModels) -> None:
        options: ToolOptions = marked.mark.options
        super().__init__(marked, models, tool_name(marked.function, options), "tools")
        schema, self._read = _arguments(self.signature, options)
        self._output = output_of(self.signature, options, models)
        try:
            mirrors_of(schema)
        except BadAnnotation as error:
            # Over HTTP, clients would have to leave such a tool out of the list.
            raise ValueError(f"{self.signature.where}: the input schema at {error}") from error
        output = self._output.schema
        execution = None if self.task is None else {"taskSupport": self.task.support()}
        self.listed = self.entry(
            name=self.key, inputSchema=schema, outputSchema=output, execution=execution
        )

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        """Return the result of a call, which may be `Written`.

        Raise `ProtocolError` for an error of the protocol.
        """
        try:
            given = self._read(params.arguments or {})
            return self._output.result(await self.run(server, session, given))
        except BadArguments as error:
            refusal = error.refusal(self.key)
            if session.__mcp_runtime__.spoken.rules.bad_arguments != "result":
                raise refusal from None
            text = refusal.message
        except (ProtocolError, Disconnected):
            raise
        except ToolError as error:
            text = str(error)
        except NotJsonResult as error:
            text = f"{self.key} returned a value that is not JSON: {error}."
            _log.error("%s", text)
        except UnfitResult as error:
            _log.error(
                "the tool %s returned a value that its schema does not allow: %s", self.key, error
            )
            text = f"{self.key} returned a value that its output schema does not allow."
        except Exception:
            _log.exception("the tool %s failed", self.key)
            text = f"{self.key} failed."
        return self.models.tool_result(text, isError=True)


def _arguments(
    signature: Signature, options: ToolOptions
) -> tuple[JSONObject, Callable[[Mapping[str, Any]], dict[str, Any]]]:
    schema = options.get("input_schema")
    if schema is None:
        arguments = Arguments(signature)
        return arguments.schema, arguments.read
    if len(signature.parameters) != 1:
        wants = "one parameter for all arguments, and optionally one for the session"
        raise TypeError(f"{signature.where}: with a handwritten schema it takes {wants}")
    (parameter,) = signature.parameters
    from ..core.schema_validation import checker

    check = checker(schema, f"{signature.where}: the input schema", of_objects=True)

    def read(arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = check(arguments)
        if found:
            raise BadArguments(found, arguments)
        return {parameter.name: arguments}

    return dict(schema), read


def tool_name(function: Function, options: ToolOptions) -> str:
    """Return the name of a tool; raise `ValueError` if it is not allowed.

    The specification says SHOULD (2025-11-25, server/tools, "Tool Names"). Here it is a rule,
    because clients refuse other names or change them, each in its own way.
    """
    given = options.get("name")
    name: str = function.__name__ if given is None else given
    check_name(name)
    return name


def check_name(name: str) -> None:
    if not 1 <= len(name) <= _LONGEST:
        raise ValueError(f"the name of a tool has 1 to {_LONGEST} characters, not {len(name)}")
    wrong = _NOT_ALLOWED.search(name)
    if wrong is not None:
        allowed = "ASCII letters and digits, underscores, hyphens and dots"
        raise ValueError(f"the tool name {name!r} contains {wrong[0]!r}; allowed are {allowed}")


class _Completed(Item):
    """An item whose arguments have completions, and whose failures are errors of the protocol."""

    texts: Texts
    completers: Mapping[str, Completer]

    async def value(self, server: object, session: SessionBase, given: Mapping[str, Any]) -> Any:
        try:
            return await self.run(server, session, given)
        except ToolError as error:
            # 2025-11-25, server/prompts and server/resources, "Error Handling".
            raise McpError(INTERNAL_ERROR, str(error)) from error

    async def complete(self, server: object, params: Any) -> Any:
        """Return suggestions for an argument; raise `InvalidParams` if there is no such one."""
        argument, parameters = params.argument, self.texts.parameters
        if argument.name not in parameters:
            meant = closest(argument.name, parameters)
            raise InvalidParams(f"{self.key} has no argument {argument.name}{meant}")
        completer = self.completers.get(argument.name) or Completer(())
        # The arguments that are already known come with the request from 2025-06-18 on.
        context = declared(params, "context")
        known: dict[str, str] = (context and context.arguments) or {}
        result = self.models.result(COMPLETE)
        (model,) = models_in(result, "completion")
        return result(completion=model(**await completer(server, argument.value, known)))


class Prompt(_Completed):
    def __init__(self, marked: Marked, models: RevisionModels) -> None:
        name = marked.mark.options.get("name") or marked.function.__name__
        super().__init__(marked, models, name, "prompts")
        where = self.signature.where
        self.texts = Texts(where, self.signature.parameters)
        parameters = self.texts.parameters
        completions = self.options.get("completions")
        self.completers = completers(where, parameters, completions, marked.cls)
        (model,) = models_in(models.entry(self.field), "arguments")
        arguments = [
            _known(
                model,
                {
                    "name": wire,
                    "description": one.description,
                    "title": one.info.title,
                    "required": one.required,
                },
            )
            for wire, one in parameters.items()
        ]
        self.listed = self.entry(name=self.key, arguments=arguments or None)

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        """Return messages or suggestions; raise `InvalidParams` for arguments that do not fit."""
        if method == COMPLETE:
            return await self.complete(server, params)
        try:
            given = self.texts.read(params.arguments or {})
        except BadArguments as error:
            raise error.refusal(self.key) from None
        value = await self.value(server, session, given)
        if isinstance(value, self.models.results("prompts/get")):
            return value
        messages = [self._message(one) for one in several(value)]
        return self.models.result("prompts/get")(messages=messages, description=self.description)

    def _message(self, value: Any) -> Any:
        models = self.models
        if isinstance(value, models.message):
            return value
        if isinstance(value, str):
            value = text_block(value)
        elif isinstance(value, Media):
            value = value.block(models.message_kinds)
        elif not isinstance(value, tuple(models.message_blocks)):
            raise TypeError(f"{self.key} returned {type(value).__name__}, which is not a message")
        return models.message(role="user", content=value)


class Resource(_Completed):
    """A resource, or a template."""

    def __init__(self, marked: Marked, models: RevisionModels) -> None:
        options = marked.mark.options
        uri: str = options["uri"]
        self.template = UriTemplate.parse(uri)
        field, member = "resources", "uri"
        if self.template.variables:
            field, member = "resource_templates", "uriTemplate"
        super().__init__(marked, models, uri, field)
        where, given = self.signature.where, self.signature.parameters
        for one in given:
            if one.name not in self.template.names:
                advice = f"write {{{one.name}}} into the URI, or Depends(…) into its annotation"
                wrong = f"the parameter {one.name} is not a variable of {uri}: {advice}"
                raise TypeError(f"{where}: {wrong}")
        # Variables have the names of the parameters in Python, not their aliases.
        self.texts = Texts(where, [replace(one, wire=one.name) for one in given])
        parameters, completions = self.texts.parameters, options.get("completions")
        self.completers = completers(where, parameters, completions, marked.cls)
        self._mime_type = options.get("mime_type")
        self.listed = self.entry(
            **{member: uri},
            name=options.get("name") or marked.function.__name__,
            mimeType=self._mime_type,
            size=options.get("size"),
        )

    def values(self, uri: str) -> dict[str, Any] | None:
        """Return the keyword arguments for a URI, or None if the URI is not of this resource."""
        texts = self.template.match(uri)
        try:
            return None if texts is None else self.texts.read(texts)
        except BadArguments:
            # A variable that its parameter's type cannot read means that there is no such resource.
            return None

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        if method == COMPLETE:
            return await self.complete(server, params)
        return await self.read(server, session, params.uri, self.values(params.uri) or {})

    async def read(
        self, server: object, session: SessionBase, uri: str, given: Mapping[str, Any]
    ) -> Any:
        """Return the result of reading a URI; raise `McpError` if there is no such resource."""
        models = self.models
        try:
            value = await self.value(server, session, given)
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
        if isinstance(value, Media):
            return value.contents(uri)
        if isinstance(value, (bytes, bytearray)):
            blob = b64encode(value).decode("ascii")
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


def not_found(uri: str, models: RevisionModels, meant: str = "") -> McpError:
    """Return the error for a URI without a resource, with the code of the server's revision."""
    return McpError(models.rules.resource_not_found, f"Resource not found{meant}", {"uri": uri})


_ITEMS: Final[Mapping[str, Callable[[Marked, RevisionModels], Item]]] = {
    "tools": Tool,
    "prompts": Prompt,
    "resources": Resource,
}

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("tools",),
    "prompts": ("prompts",),
    "resources": ("resources", "resource_templates"),
}
"""The lists of each kind of items, which change together."""


Lists: TypeAlias = dict[str, dict[str, Any]]
"""What a server offers: the items of each list by name or URI, in the order of registration."""


def register(marked: Marked, lists: Lists, models: RevisionModels) -> None:
    """Add a function to a list, as its decorator says; raise `TypeError` and `ValueError`."""
    item = _item(marked, models)
    items = lists[item.field]
    if item.key in items:
        what = item.field.removesuffix("s").replace("_", " ")
        where, advice = named(marked.function), "give one of them another"
        wanted = f"{advice} {'URI' if item.field.startswith('resource') else 'name: name=…'}"
        raise ValueError(f"{where}: there is already a {what} {item.key}: {wanted}")
    items[item.key] = item


def _item(marked: Marked, models: RevisionModels) -> Item:
    kind = marked.mark.kind
    if models.ui is not None and models.ui.concerns(marked):
        made: Item = models.ui.MAKERS[kind](marked, models)
        return made
    if "ui" in marked.mark.options:
        advice = "generate the package with --extension apps, and write AppsServer before Toolkit"
        wrong = "ui=… needs a server with the extension apps"
        raise TypeError(f"{named(marked.function)}: {wrong}: {advice}")
    return _ITEMS[kind](marked, models)


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
        if attribute:
            raise TypeError(f"{attribute}: {where} has a decorator, but is not a function")
        raise TypeError(f"{where} is not a function: write a function that calls it")
    if mark.options.get("thread") and iscoroutinefunction(function):
        raise TypeError(f"{where}: a coroutine function cannot run in a thread")
    names = check_shape(function, method=marked.is_method)
    try:
        if mark.kind == "tools":
            tool_name(function, mark.options)
        elif mark.kind == "resources":
            uri: str = mark.options["uri"]
            for variable in UriTemplate.parse(uri).names:
                # Further parameters may be there: one of them may take the request context.
                if variable not in names:
                    wrong = f"{uri} has {{{variable}}}, which is not a parameter"
                    raise TypeError(f"{where}: {wrong}: add {variable}: str")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
