"""Two principals who have tasks over HTTP."""

from typing import Any, Final

from mcp_revisions import Authentication, Principal, static_tokens

WHO: Final = Authentication(
    verify=static_tokens({name * 6: Principal(id=name) for name in ("ann", "bob")}),
)


def of(name: str) -> Any:
    """The fields that say who somebody is."""
    return {"Authorization": f"Bearer {name * 6}"}
