"""User interfaces of tools, offered by servers (extension apps, SEP-1865).

Clients that do not declare them see ordinary tools.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...core.json import JSONObject, is_array, without
from ...core.json_pointers import value_at
from ...core.models.base import WireModel, declared_member
from ...messages.method_table import EXTENSIONS
from ...server.base import SessionBase
from ...toolkit.decorators import Mark, MarkedFunction
from ...toolkit.functions import function_name
from ...toolkit.items import Item, Tool
from ...toolkit.prompts_and_resources import Resource
from ...toolkit.revision_models import RevisionModels
from .constants import APPS, KEY, MIME_TYPE, SCHEME


def concerns(marked: MarkedFunction) -> bool:
    options = marked.mark.options
    return KEY in options or options.get("uri", "").startswith(SCHEME)


def is_host(session: SessionBase) -> bool:
    declared = session.__mcp_runtime__.peer_capabilities()
    shown = value_at(declared, (EXTENSIONS, APPS, "mimeTypes"))
    return is_array(shown) and MIME_TYPE in shown


class UiTool(Tool):
    def __init__(self, marked: MarkedFunction, models: RevisionModels) -> None:
        options = marked.mark.options
        given = options[KEY]
        ui = {"resourceUri": given} if isinstance(given, str) else _members(marked, given)
        self._ui_uri: str | None = ui.get("resourceUri")
        if self._ui_uri is not None:
            _check_scheme(marked, self._ui_uri)
        if "model" not in ui.get("visibility", ("model",)):
            options = {**options, "enabled": _for_hosts(options.get("enabled", True))}
        super().__init__(_add_meta(marked, options, ui), models)
        listed: JSONObject = self.listed.to_wire()
        meta = without(listed.pop("_meta"), KEY)
        model = models.entry(self.field)
        self._plain = model.from_wire({**listed, "_meta": meta} if meta else listed)

    def listed_for(self, session: SessionBase) -> Any:
        return self.listed if is_host(session) else self._plain

    def check_offered(self, owns: Callable[[str], bool]) -> None:
        uri = self._ui_uri
        if uri is not None and not owns(uri):
            advice = f'add it with @resource("{uri}")'
            raise ValueError(f"{self.signature.label}: ui: the resource {uri} is missing: {advice}")


class UiResource(Resource):
    """Its metadata is in the list, and in the contents, which win ("UI Resource Format")."""

    def __init__(self, marked: MarkedFunction, models: RevisionModels) -> None:
        options = marked.mark.options
        _check_scheme(marked, options["uri"])
        if options.get("mime_type", MIME_TYPE) != MIME_TYPE:
            where = function_name(marked.function)
            raise ValueError(f"{where}: the mime_type of a {SCHEME} resource must be {MIME_TYPE}")
        self._ui = _members(marked, options[KEY]) if KEY in options else {}
        super().__init__(_add_meta(marked, {**options, "mime_type": MIME_TYPE}, self._ui), models)

    async def read(
        self, server: object, session: SessionBase, uri: str, given: Mapping[str, Any]
    ) -> Any:
        result = await super().read(server, session, uri, given)
        contents = declared_member(result, "contents")
        if contents is None:  # a question to the client
            return result
        return result.model_copy(update={"contents": [*map(self._complete_contents, contents)]})

    def _complete_contents(self, contents: WireModel) -> WireModel:
        wire: JSONObject = {**contents.to_wire(), "mimeType": MIME_TYPE}
        if self._ui:
            wire["_meta"] = {KEY: self._ui, **wire.get("_meta", {})}
        return type(contents).from_wire(wire)


MAKERS: Final[Mapping[str, Callable[[MarkedFunction, RevisionModels], Item]]] = {
    "tools": UiTool,
    "resources": UiResource,
}


def _check_scheme(marked: MarkedFunction, uri: str) -> None:
    if not uri.startswith(SCHEME):
        raise ValueError(f"{function_name(marked.function)}: ui: {uri!r} must be a {SCHEME} URI")


def _members(marked: MarkedFunction, given: Any) -> JSONObject:
    if not isinstance(given, WireModel):
        kind = "McpUiToolMeta" if marked.mark.kind == "tools" else "McpUiResourceMeta"
        raise TypeError(f"{function_name(marked.function)}: ui must be a {kind}, got {given!r:.80}")
    return given.to_wire()


def _add_meta(marked: MarkedFunction, options: Mapping[str, Any], ui: JSONObject) -> MarkedFunction:
    meta: Mapping[str, Any] = options.get("meta") or {}
    if KEY in meta:
        raise ValueError(f"{function_name(marked.function)}: ui must not be in meta, too")
    whole = {**options, "meta": {**meta, KEY: ui}} if ui else options
    return marked._replace(mark=Mark(marked.mark.kind, whole))


def _for_hosts(enabled: Any) -> Callable[[SessionBase], bool | Awaitable[bool]]:
    """Return the `enabled` of a tool for apps only: other clients would show it to models."""

    def shows(session: SessionBase) -> Any:
        return is_host(session) and (enabled(session) if callable(enabled) else enabled)

    return shows
