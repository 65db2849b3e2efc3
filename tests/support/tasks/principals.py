"""Two principals with tasks over HTTP, each with a scope."""

from typing import Any, Final

from mcp_revisions import Authentication, Principal, static_tokens

PEOPLE: Final = ("ann", "bob")

WHO: Final = Authentication(
    verify=static_tokens(
        {name * 6: Principal(name, frozenset({"tasks", name})) for name in PEOPLE}
    ),
)


def of(name: str) -> Any:
    """Return the header fields that identify a principal."""
    return {"Authorization": f"Bearer {name * 6}"}
