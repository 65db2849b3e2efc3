"""User interfaces of tools, read by a host (extension apps, SEP-1865)."""

from base64 import b64decode
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from ...client.base import ClientBase
from ...core.errors import InvalidAnswer
from ...core.json import JSONObject, is_object
from ...core.models.base import WireModel
from .constants import KEY, MIME_TYPE, SCHEME

ToolMetaT = TypeVar("ToolMetaT", bound=WireModel)
MetaT = TypeVar("MetaT", bound=WireModel)

_FLAT: Final = "ui/resourceUri"  # deprecated, but older hosts need it


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInterface(Generic[MetaT]):
    """A page that a host shows with a tool's results.

    It comes from the server and is untrusted: run it in a sandbox, and allow only what `meta` asks
    for ("Security Implications").
    """

    uri: str
    html: str
    meta: MetaT


class UiHost(ClientBase, Generic[ToolMetaT, MetaT]):
    """A client that shows user interfaces of tools.

    Its methods raise `InvalidAnswer` for invalid data from the server.
    """

    MODELS: ClassVar[ModuleType]

    def ui_of(self, tool: WireModel) -> ToolMetaT | None:
        """Return the metadata of a tool's user interface; None if it has none."""
        meta = _meta(tool.to_wire())
        ui, flat = meta.get(KEY), meta.get(_FLAT)
        if flat is not None and (ui is None or (is_object(ui) and "resourceUri" not in ui)):
            ui = {**(ui or {}), "resourceUri": flat}
        if ui is None:
            return None
        read: ToolMetaT = self._read("McpUiToolMeta", ui)
        uri = cast(Any, read).resource_uri
        if uri is not None and not uri.startswith(SCHEME):
            raise InvalidAnswer(f"the user interface of a tool must have a {SCHEME} URI")
        return read

    def is_visible(self, tool: WireModel, to: Literal["model", "app"]) -> bool:
        """Return whether a tool is for the model, or for its server's user interfaces.

        A host hides others from its model, and refuses their calls ("Visibility").
        """
        ui: Any = self.ui_of(tool)
        return ui is None or ui.visibility is None or to in ui.visibility

    async def read_ui(self, tool: WireModel) -> UserInterface[MetaT] | None:
        """Return a tool's user interface from the server; None if it has none.

        Metadata missing in the contents comes from the list of resources.
        """
        ui: Any = self.ui_of(tool)
        if ui is None or ui.resource_uri is None:
            return None
        uri = ui.resource_uri
        client = cast(Any, self)
        contents = _page(await client.read_resource(uri))
        meta = _meta(contents).get(KEY)
        if meta is None:
            async for resource in client.iter_resources():
                if resource.uri == uri:
                    meta = _meta(resource.to_wire()).get(KEY)
        return UserInterface(
            uri=uri,
            html=_html(contents),
            meta=self._read("McpUiResourceMeta", {} if meta is None else meta),
        )

    def _read(self, name: str, value: object) -> Any:
        try:
            return getattr(self.MODELS, name).from_wire(value)
        except ValidationError as error:
            raise InvalidAnswer(f"the user interface's metadata is not a valid {name}") from error


def _page(result: WireModel) -> JSONObject:
    listed: list[JSONObject] = result.to_wire().get("contents", [])
    contents = listed[0] if listed else {}
    given = contents.get("mimeType")
    if given != MIME_TYPE:
        raise InvalidAnswer(f"a user interface must be {MIME_TYPE}, got {given!r:.80}")
    return contents


def _html(contents: JSONObject) -> str:
    if "text" in contents:
        return str(contents["text"])
    try:
        return b64decode(contents["blob"], validate=True).decode()
    except ValueError as error:
        raise InvalidAnswer("a user interface must be UTF-8 text in base64") from error


def _meta(wire: JSONObject) -> JSONObject:
    meta = wire.get("_meta")
    return meta if is_object(meta) else {}
