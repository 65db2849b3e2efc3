"""Two principals who have tasks over HTTP."""

from typing import Any, Final

from mcp_revisions import Authentication, Principal, static_tokens

PEOPLE: Final = ("ann", "bob")

WHO: Final = Authentication(
    verify=static_tokens(
        {name * 6: Principal(name, frozenset({"tasks", name})) for name in PEOPLE}
    ),
)


def of(name: str) -> Any:
    """The fields that say who somebody is."""
    return {"Authorization": f"Bearer {name * 6}"}
