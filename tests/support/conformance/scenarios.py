"""The scenarios of the official suite that we must pass, by side and revision.

Left out: the duties of an authorization server, and a scenario for tasks that the suite itself
skips. The suite runs some of these all the same; they are named here so that a new scenario is
noticed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

_SERVER: Final = (
    "completion-complete",
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-templates-read",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
)
"""In both eras."""

HANDSHAKE_SERVER: Final = (
    *_SERVER,
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "logging-set-level",
    "ping",
    "resources-subscribe",
    "resources-unsubscribe",
    "server-initialize",
    "server-session-lifecycle",
    "server-sse-polling",
    "tools-call-elicitation",
    "tools-call-sampling",
    "tools-call-with-logging",
)

STATELESS_SERVER: Final = (
    *_SERVER,
    "caching",
    "http-custom-header-server-validation",
    "http-header-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-basic-list-roots",
    "input-required-result-basic-sampling",
    "input-required-result-capability-check",
    "input-required-result-ignore-extra-params",
    "input-required-result-missing-input-response",
    "input-required-result-multi-round",
    "input-required-result-multiple-input-requests",
    "input-required-result-non-tool-request",
    "input-required-result-request-state",
    "input-required-result-result-type",
    "input-required-result-tampered-state",
    "input-required-result-unsupported-methods",
    "input-required-result-validate-input",
    "sep-2164-resource-not-found",
    "server-stateless",
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
)

HANDSHAKE_CLIENT: Final = (
    "elicitation-sep1034-client-defaults",
    "initialize",
    "json-schema-2020-12-preservation",
    "sse-retry",
    "tools_call",
)

STATELESS_CLIENT: Final = (
    "http-custom-headers",
    "http-invalid-tool-headers",
    "http-standard-headers",
    "json-schema-2020-12-preservation",
    "json-schema-ref-no-deref",
    "request-metadata",
    "sep-2322-client-request-state",
    "tools_call",
)

AUTHORIZATION_2025_06_18: Final = (
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
)

HANDSHAKE_AUTHORIZATION: Final = (
    *AUTHORIZATION_2025_06_18,
    "auth/basic-cimd",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/pre-registration",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
)

STATELESS_AUTHORIZATION: Final = (
    *HANDSHAKE_AUTHORIZATION,
    "auth/authorization-server-migration",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/resource-mismatch",
)

AUTHORIZATION_2025_03_26: Final = (
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/2025-03-26-oauth-metadata-backcompat",
)

AUTHORIZATION_EXTENSIONS: Final = (
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
)

SKILLS_SERVER: Final = (
    "sep-2640-skills-directory",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
)

SKILLS_CLIENT: Final = (
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-frontmatter",
    "sep-2640-client-verify-size",
)

OTHERS: Final = ("authorization-", "tasks-status-notifications")
"""How the names of scenarios begin that are not ours to pass."""


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
