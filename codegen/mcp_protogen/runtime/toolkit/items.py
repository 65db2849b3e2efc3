"""Decorated functions as items of a list, and tools with their calls."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from inspect import getdoc, isawaitable, iscoroutinefunction, unwrap
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.connection_errors import Disconnected
from ..core.copies import put
from ..core.errors import ProtocolError
from ..core.json import JSONObject
from ..core.models.base import WireModel, declared_member
from ..core.options import string_set
from ..core.value_paths import PathEntry
from ..server.base import SessionBase
from ..server.context import failed_result
from .decorators import MarkedFunction, ToolOptions
from .functions import Arguments, Function, Signature, signature_of, split_dependencies
from .results import output_of
from .revision_models import RevisionModels, fields_of

if TYPE_CHECKING:
    from .task_options import TaskMode


# The names of tools (2025-11-25, server/tools, "Tool Names").
_LONGEST: Final = 128
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_.-]")

COMPLETE: Final = "completion/complete"

# Marks a property of a schema; see `rules.param_headers`.
_HEADER: Final = b'"x-mcp-header"'

_PLAIN: Final = (str, dict, list, int)  # `isawaitable` takes longer than most functions


def is_private(uri: str) -> bool:
    """Return whether only its server can read a URI (2025-11-25, "Common URI Schemes")."""
    return not uri.startswith(("http:", "https:"))


def name_of(server: Any) -> str:
    info: WireModel | None = getattr(server, "info", None)
    if isinstance(server, type):
        return server.__name__
    return getattr(info, "name", None) or type(server).__name__


def requested_item(method: str, params: Any) -> tuple[str, str]:
    """Return the kind of the requested item, and its name or URI."""
    about = params.ref if method == COMPLETE else params
    uri = declared_member(about, "uri")
    if uri is not None:
        return "resources", uri
    return "prompts" if method in ("prompts/get", COMPLETE) else "tools", about.name


class Item(ABC):
    """A decorated function in one revision; clients use its `key` in the list `field`."""

    listed: Any

    def __init__(
        self, marked: MarkedFunction, models: RevisionModels, key: str, field: str
    ) -> None:
        self.key = key
        self.field = field
        self.models = models
        signature = signature_of(marked.function, method=marked.is_method)
        self.signature, filled = split_dependencies(signature)
        self.options, label = marked.mark.options, signature.label
        self.tags = string_set(self.options.get("tags", ()), f"{label}: tags")
        self.enabled = self.options.get("enabled", True)
        if not isinstance(self.enabled, bool) and not callable(self.enabled):
            raise TypeError(f"{label}: enabled must be True, False or a function of the session")
        self.task: TaskMode | None = None
        if "task" in self.options:
            from .task_options import task_mode

            self.task = task_mode(self.options, label)
        self.scopes = frozenset[str]()
        if "scopes" in self.options:
            from ..core.oauth_scopes import checked_scopes

            self.scopes = checked_scopes(self.options["scopes"], label)
        # If arguments have no descriptions, the whole docstring is kept.
        is_whole = not self.options.keys().isdisjoint(("input_schema", "uri"))
        documented = getdoc(marked.function) if is_whole else self.signature.description
        self.description = self.options.get("description") or documented or None
        self._marked = marked
        # A wrapper of a coroutine function usually returns its coroutine, and does not block.
        is_plain = not iscoroutinefunction(unwrap(marked.function))
        self._threaded = self.options.get("thread", is_plain)
        if filled:
            from .dependencies import with_dependencies

            # Replaced here, so that calls without dependencies take no further step.
            vars(self)["run"] = with_dependencies(self.run, filled, threaded=self._threaded)
        if self.scopes:
            vars(self)["run"] = _requiring(self.scopes, self.run)

    def listed_for(self, session: SessionBase) -> Any:
        return self.listed

    def check_offered(self, owns: Callable[[str], bool]) -> None:  # noqa: B027
        ...

    @abstractmethod
    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any: ...

    def entry(self, **members: Any) -> Any:
        options, label = self.options, self.signature.label
        icons, meta, annotations = map(options.get, ("icons", "meta", "annotations"))
        members |= {
            "title": options.get("title"),
            "description": self.description,
            "icons": None if icons is None else [icon.to_wire() for icon in icons],
            "annotations": annotations and annotations.to_wire(),
            "_meta": None if meta is None else dict(meta),
        }
        model = self.models.entry(self.field)
        filtered = filter_members(model, members)
        try:
            result = model.from_wire(filtered)
            # An entry that JSON cannot express must fail here, not when a client lists it.
            result.to_json()
            return result
        except PydanticSerializationError as error:
            raise TypeError(f"{label}: {error}") from error
        except ValidationError as error:
            from ..core.models.validation_errors import problems

            wrong = "; ".join(f"{at}: {text}" for at, text in problems(error, filtered))
            raise TypeError(f"{label}: {wrong}") from error

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
    """Check scopes again, because middleware may have replaced the item."""

    async def run_checked(server: Any, session: SessionBase, *given: Any) -> Any:
        session.require_scopes(*scopes)
        return await run(server, session, *given)

    return run_checked


def filter_members(model: type[WireModel], members: Mapping[str, Any]) -> JSONObject:
    """Return the members, by wire name, that have a value and exist in a model."""
    known = {field.alias or name for name, field in fields_of(model).items()}
    return {key: value for key, value in members.items() if value is not None and key in known}


class Tool(Item):
    def __init__(self, marked: MarkedFunction, models: RevisionModels) -> None:
        options: ToolOptions = marked.mark.options
        super().__init__(marked, models, tool_name(marked.function, options), "tools")
        schema, self._read = _arguments(self.signature, options)
        self._output = output_of(self.signature, options, models)
        output = self._output.schema
        execution = None if self.task is None else {"taskSupport": self.task.support()}
        members = {"name": self.key, "inputSchema": schema, "execution": execution}
        variant, place = models.rules.content_variant, models.rules.output_schema
        if variant and isinstance(variant[-1], PathEntry):
            members = put(members, variant, dict(variant[-1].constants))
        if output is not None and place:
            members = put(members, place, output)
        self.listed = self.entry(**members)
        if models.rules.complete_tool is not None:
            models.rules.complete_tool(self)
        if _HEADER in self.listed.to_json():
            from ..rules.param_headers import check_header_params

            check_header_params(schema, self.signature.label)

    async def answer(self, server: Any, session: SessionBase, method: str, params: Any) -> Any:
        """Return the result, which may be `ResultText`."""
        try:
            given = self._read(params.arguments or {})
            return self._output.result(await self.run(server, session, given))
        except (ProtocolError, Disconnected):
            raise
        except Exception as error:
            from .failures import explain_failure

            text = explain_failure(self.key, error, session.__mcp_runtime__.spoken.rules)
        return failed_result(self.models.call_result, text)


def _arguments(
    signature: Signature, options: ToolOptions
) -> tuple[JSONObject, Callable[[Mapping[str, Any]], dict[str, Any]]]:
    schema = options.get("input_schema")
    if schema is None:
        arguments = Arguments(signature)
        return arguments.schema, arguments.read
    if len(signature.parameters) != 1:
        wants = "one parameter for all arguments, and optionally one for the session"
        raise TypeError(f"{signature.label}: with a handwritten schema it must take {wants}")
    from ..core.schema_validation import checker
    from .failures import BadArguments

    (parameter,) = signature.parameters
    check = checker(schema, f"{signature.label}: the input schema", of_objects=True)

    def read(arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = check(arguments)
        if found:
            raise BadArguments(found, arguments)
        return {parameter.name: arguments}

    return dict(schema), read


def tool_name(function: Function, options: ToolOptions) -> str:
    """Return the name of a tool; raise `ValueError`.

    The specification says SHOULD (2025-11-25, server/tools, "Tool Names"), but clients refuse or
    change other names, each in its own way.
    """
    given = options.get("name")
    name = function.__name__ if given is None else given
    check_name(name)
    return name


def check_name(name: str) -> None:
    if not 1 <= len(name) <= _LONGEST:
        raise ValueError(f"a tool's name must have 1 to {_LONGEST} characters, got {len(name)}")
    wrong = _NOT_ALLOWED.search(name)
    if wrong is not None:
        allowed = "ASCII letters and digits, underscores, hyphens and dots"
        raise ValueError(f"the tool name {name!r} contains {wrong[0]!r}; use only {allowed}")
