"""A small stateless revision: results with a type, and optional members with defaults."""

from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from mcp_protogen.runtime.core.models import SUPPLIED, Implied, Integer, WireModel
from mcp_protogen.runtime.core.spec import Lenient, NotificationSpec, RequestSpec, Rules
from mcp_protogen.runtime.messages.method_table import MethodTable
from pydantic import Field


class Capabilities(WireModel):
    roots: dict[str, Any] | None = None


class RequestMeta(WireModel):
    capabilities: Annotated[Capabilities, Field(alias="example/capabilities"), Implied] = SUPPLIED
    level: str | None = None
    version: Annotated[str, Field(alias="example/version"), Implied] = "2030-01-01"


class RequestParams(WireModel):
    meta: Annotated[RequestMeta, Field(alias="_meta"), Implied] = SUPPLIED


class PageParams(RequestParams):
    cursor: str | None = None


class NameParams(RequestParams):
    name: str


class PlainParams(WireModel):
    """A class that declares no metadata."""

    name: str | None = None


class Result(WireModel):
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    result_type: Annotated[str, Field(alias="resultType"), Implied] = "complete"


class ListResult(Result):
    """A page that may be cached."""

    cache_scope: Annotated[Literal["public", "private"], Field(alias="cacheScope"), Implied] = (
        "private"
    )
    items: list[str]
    ttl_ms: Annotated[Integer, Field(alias="ttlMs", ge=0), Implied] = 0


class NameResult(Result):
    ttl_ms: Annotated[Integer | None, Field(alias="ttlMs", ge=0)] = None


class InputRequiredResult(WireModel):
    result_type: Annotated[Literal["input_required"], Field(alias="resultType")] = "input_required"
    state: str


LIST: Final[RequestSpec[PageParams, ListResult, ListResult]] = RequestSpec(
    "list",
    senders=frozenset({"client"}),
    load_params=lambda: PageParams,
    load_results=lambda: (ListResult,),
)
NAME: Final[RequestSpec[NameParams, NameResult, NameResult | InputRequiredResult]] = RequestSpec(
    "name",
    senders=frozenset({"client"}),
    load_params=lambda: NameParams,
    load_results=lambda: (NameResult, InputRequiredResult),
)
PLAIN: Final[NotificationSpec[PlainParams]] = NotificationSpec(
    "plain", senders=frozenset({"client"}), load_params=lambda: PlainParams, params_required=False
)

TABLE: Final = MethodTable(
    "2030-01-01",
    requests=MappingProxyType({"list": LIST, "name": NAME}),
    notifications=MappingProxyType({"plain": PLAIN}),
    errors=MappingProxyType({}),
    rules=Rules(
        era="stateless",
        result_types=("complete", "input_required"),
        leniency=(
            Lenient("resultType", "absent", "complete"),
            Lenient("ttlMs", "absent", 0),
            Lenient("ttlMs", "negative", 0),
            Lenient("cacheScope", "absent", "private"),
        ),
    ),
)
