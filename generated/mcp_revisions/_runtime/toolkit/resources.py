"""Resources: the entry in the list, and the contents that a client reads."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..core.errors import McpError
from ..core.json import json_text
from .arguments import BadArguments, Texts
from .completions import completers
from .decorators import Marked, ResourceMark
from .items import Item
from .revision_models import RevisionModels, models_in, several
from .uri_templates import UriTemplate

_JSON: Final = "application/json"
_READ: Final = "resources/read"


class ResourceNotFound(Exception):
    """The requested resource does not exist; for functions of resource templates."""


class Resource(Item):
    """One function as a resource, or as a template of resources, in one revision."""

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

    async def read(self, server: object, session: Any, uri: str, given: Mapping[str, Any]) -> Any:
        """Return the result of reading a URI; raise `McpError` if there is no such resource."""
        models = self.models
        try:
            value = await self.run(server, session, given)
        except ResourceNotFound:
            raise not_found(uri, models) from None
        if isinstance(value, models.result_classes(_READ)):
            return value
        classes, contents = tuple(models.contents), several(value)
        # Any other list is one value, and its JSON is the contents.
        if not contents or not all(isinstance(one, classes) for one in contents):
            contents = [self._contents(value, uri)]
        return models.result(_READ)(contents=contents)

    def _contents(self, value: Any, uri: str) -> Any:
        """Return a value as the contents of a URI."""
        models, mime_type = self.models, self._mime_type
        if isinstance(value, (bytes, bytearray)):
            blob = b64encode(value).decode("ascii")
            return models.contents_with("blob")(uri=uri, blob=blob, mime_type=mime_type)
        if not isinstance(value, str):
            value, mime_type = json_text(value).decode(), mime_type or _JSON
        return models.contents_with("text")(uri=uri, text=value, mime_type=mime_type)


def not_found(uri: str, models: RevisionModels) -> McpError:
    """Return the error for a URI without a resource, with the code of the server's revision."""
    return McpError(models.rules.resource_not_found, "Resource not found", {"uri": uri})
