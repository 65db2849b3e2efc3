"""Resources: the entry in the list, and the contents that a client reads."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..core.errors import McpError
from ..core.json import json_text
from .arguments import BadArguments, Texts
from .completions import Look, completers
from .decorators import ResourceMark
from .failures import ResourceNotFound
from .invoke import Function, Invocation
from .revision_models import RevisionModels, listed, models_in, several, wire_of
from .signatures import Signature, check_shape, described, named, signature_of
from .uri_templates import UriTemplate

_JSON: Final = "application/json"
_READ: Final = "resources/read"


def check_variables(function: Function, mark: ResourceMark, names: list[str]) -> None:
    """Raise `TypeError` unless each variable of a template is a parameter of its function.

    The function may have further parameters here: one of them may take the request context.
    """
    where, variables = named(function), UriTemplate.parse(mark.uri).names
    for variable in variables:
        if variable not in names:
            raise TypeError(f"{where}: {mark.uri} has {{{variable}}}, which is not a parameter")


class Resource:
    """One function as a resource, or as a template of resources, in one revision."""

    __slots__ = (
        "_call",
        "_mime_type",
        "_texts",
        "_words",
        "completers",
        "item",
        "key",
        "parameters",
        "template",
    )

    def __init__(
        self,
        function: Function,
        mark: ResourceMark,
        words: RevisionModels,
        *,
        method: bool,
        look: Look,
    ) -> None:
        check_variables(function, mark, check_shape(function, method=method))
        signature = signature_of(function, method=method)
        self.key = mark.uri
        """The URI, or the URI template."""
        self.template = UriTemplate.parse(mark.uri)
        # Variables have the names of the parameters in Python, not their aliases.
        parameters = [replace(one, wire=one.name) for one in signature.parameters]
        self._check(signature)
        self._texts = Texts(signature.where, parameters)
        self._words = words
        self._call = Invocation(signature, thread=mark.thread)
        self._mime_type = mark.mime_type
        by_name = self._texts.parameters
        self.parameters = frozenset(by_name)
        """The variables of the template."""
        self.completers = completers(signature.where, by_name, mark.completions, look)
        self.item = self._listed(function, mark)
        """The entry in `resources/list` or `resources/templates/list`."""

    def _check(self, signature: Signature) -> None:
        for parameter in signature.parameters:
            if parameter.name not in self.template.names:
                reason = f"is not a variable of {self.key}"
                raise TypeError(f"{signature.where}: the parameter {parameter.name} {reason}")

    def _listed(self, function: Function, mark: ResourceMark) -> Any:
        kind, uri = ("resources", "uri")
        method = "resources/list"
        if self.template.variables:
            kind, uri, method = "resource_templates", "uriTemplate", "resources/templates/list"
        (model,) = models_in(self._words.result(method), kind)
        return listed(
            model,
            named(function),
            mark,
            **{uri: mark.uri},
            name=mark.name or function.__name__,
            description=mark.description or described(function),
            mimeType=mark.mime_type,
            annotations=wire_of(mark.annotations),
            size=mark.size,
        )

    def values(self, uri: str) -> dict[str, Any] | None:
        """Return the keyword arguments for a URI, or None if the URI is not of this resource."""
        texts = self.template.match(uri)
        if texts is None:
            return None
        try:
            return self._texts.read(texts)
        except BadArguments:
            # A variable that its parameter's type cannot read means that there is no such resource.
            return None

    async def read(
        self, function: Function, session: Any, uri: str, values: Mapping[str, Any]
    ) -> Any:
        """Return the result of reading a URI; raise `McpError` if there is no such resource."""
        try:
            value = await self._call(function, session, values)
        except ResourceNotFound:
            raise not_found(uri, self._words) from None
        result = self._words.result(_READ)
        if isinstance(value, self._words.result_classes(_READ)):
            return value
        kinds, contents = tuple(self._words.contents), several(value)
        # Any other list is one value, and its JSON is the contents.
        if not contents or not all(isinstance(one, kinds) for one in contents):
            contents = [self._held(value, uri)]
        return result(contents=contents)

    def _held(self, value: Any, uri: str) -> Any:
        """Return a value as the contents of a URI."""
        words, mime_type = self._words, self._mime_type
        if isinstance(value, (bytes, bytearray)):
            blob = b64encode(value).decode("ascii")
            return words.contents_with("blob")(uri=uri, blob=blob, mime_type=mime_type)
        if not isinstance(value, str):
            value, mime_type = json_text(value).decode(), mime_type or _JSON
        return words.contents_with("text")(uri=uri, text=value, mime_type=mime_type)


def not_found(uri: str, words: RevisionModels) -> McpError:
    """Return the error for a URI without a resource, with the code of the server's revision."""
    return McpError(words.rules.resource_not_found, "Resource not found", {"uri": uri})
