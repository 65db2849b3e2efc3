"""The scenarios that we must pass, of those that the official suite lists.

Left out: the duties of an authorization server, and a scenario for tasks that the suite itself
skips.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from support.conformance.kit import list_scenarios
from support.revisions import STATELESS

_EXTENSION: Final = ["extension"]

OTHERS: Final = ("authorization-", "tasks-status-notifications")
"""How the names of scenarios begin that are not ours to pass."""


def find_scenarios(side: str, revision: str, topic: str | None) -> Iterator[str]:
    """Yield the scenarios of a side in a revision about a topic, or about anything else."""
    for of, name, tags in list_scenarios():
        is_auth, of_extension = name.startswith("auth/"), tags == _EXTENSION
        if topic == "skills":
            fits = name.startswith("sep-2640-") and of_extension
        elif topic == "extensions of authorization":
            fits = is_auth and of_extension
        else:
            # The suite knows no revision of tasks.
            has_tasks = name.startswith("tasks-") and revision == STATELESS
            fits = is_auth == (topic == "authorization") and (revision in tags or has_tasks)
        if fits and of == side and not name.startswith(OTHERS):
            yield name


class Excuse(NamedTuple):
    """The reason why a scenario cannot pass, and the prefixes of the checks in question."""

    why: str
    checks: tuple[str, ...]


Excuses: TypeAlias = Mapping[str, Excuse]
"""By scenario."""

NONE: Final[Excuses] = {}

_POLLING: Final[Excuses] = {
    "server-sse-polling": Excuse(
        "before 2025-11-25 a server does not close a stream before the answer", ("server-sse-",)
    ),
}

_NOBODY: Final = "before 2025-06-18 there is no elicitation"

_ELICITATION: Final[Excuses] = {
    "elicitation-sep1034-defaults": Excuse(_NOBODY, ("elicitation-sep1034-",)),
    "elicitation-sep1330-enums": Excuse(_NOBODY, ("elicitation-sep1330-",)),
    "tools-call-elicitation": Excuse(_NOBODY, ("tools-call-elicitation",)),
}

IMPOSSIBLE: Final[Mapping[str, Excuses]] = {
    "2025-06-18": {
        **_POLLING,
        "elicitation-sep1034-defaults": Excuse(
            "before 2025-11-25 only booleans have defaults in forms", ("elicitation-sep1034-",)
        ),
        # The suite answers with lists, which its own schema of the revision does not allow.
        "elicitation-sep1330-enums": Excuse(
            "before 2025-11-25 there is no multiple choice in forms",
            ("elicitation-sep1330-", "wire-schema-harness-error"),
        ),
    },
    "2025-03-26": {**_POLLING, **_ELICITATION},
    "2024-11-05": {
        **_POLLING,
        **_ELICITATION,
        "tools-call-audio": Excuse(
            "before 2025-03-26 there are no audio blocks; audio is sent as a resource",
            ("tools-call-audio",),
        ),
    },
}
"""What a server that speaks one old revision cannot pass, because the revision lacks it."""

FOREIGN: Final[Excuses] = {
    "dns-rebinding-protection": Excuse(
        "the probe's header names a revision that the server does not speak; "
        "the answer must be 400",
        ("localhost-host-valid-accepted",),
    ),
}
"""Scenarios that a server cannot pass when tested for a revision that it does not speak."""
