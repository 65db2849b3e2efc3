"""Servers without a class: an object to which decorators add functions."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, ClassVar, Unpack, cast, overload

from ..core.models.base import WireModel
from .decorators import (
    FunctionT,
    PromptOptions,
    ResourceOptions,
    ToolOptions,
    check_function,
    check_uri,
)
from .items import filter_members
from .server import Toolkit


class AppBase(Toolkit):
    IMPLEMENTATION: ClassVar[type[WireModel]]

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        icons: Iterable[WireModel] | None = None,
        website_url: str | None = None,
        lifespan: Callable[[Any], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        """Name the server; members unknown to its revision are left out.

        `lifespan` is called with this server and entered before it serves; its value is the `state`
        of sessions. Raise `TypeError` if it is not a context manager.
        """
        members = {
            "name": name,
            "version": version,
            "title": title,
            "description": description,
            "icons": None if icons is None else [icon.to_wire() for icon in icons],
            "websiteUrl": website_url,
        }
        info = self.IMPLEMENTATION.from_wire(filter_members(self.IMPLEMENTATION, members))
        vars(self).update(info=info, instructions=instructions)
        if lifespan is not None:
            from ..server.lifespan import check_lifespan

            check_lifespan(lifespan)
            vars(self)["lifespan"] = partial(lifespan, self)

    @overload
    def tool(self, function: FunctionT, /) -> FunctionT: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[FunctionT], FunctionT]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Add a function as a tool; see the decorator `tool`."""
        return _add_function(self, "tools", function, options)

    def resource(
        self, uri: str, /, **options: Unpack[ResourceOptions]
    ) -> Callable[[FunctionT], FunctionT]:
        """Add a function as a resource or a template; see the decorator `resource`."""
        check_uri(uri, "app.resource")
        given = {"uri": uri, **options}
        return cast(Callable[[FunctionT], FunctionT], _add_function(self, "resources", None, given))

    @overload
    def prompt(self, function: FunctionT, /) -> FunctionT: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[FunctionT], FunctionT]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Add a function as a prompt; see `tool`."""
        return _add_function(self, "prompts", function, options)


def _add_function(app: AppBase, kind: str, function: Any, options: Mapping[str, Any]) -> Any:
    def add(function: Any) -> Any:
        check_function(function, f"app.{kind.removesuffix('s')}")
        app.__mcp_runtime__.add(kind, function, options)
        return function

    return add if function is None else add(function)
