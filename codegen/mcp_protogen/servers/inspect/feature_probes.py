"""The probes of subscriptions, tasks and extensions."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.core.subscriptions import RESOURCE_UPDATED, is_list_change
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES
from mcp_protogen.runtime.rules.task_kinds import TASKS_EXTENSION
from mcp_protogen.servers.inspect.probes import NONE, cancellation, first_uri, of_first
from mcp_protogen.servers.inspect.revision_facts import (
    LINES,
    has_core_tasks,
    is_stateless,
    selectors_in,
)
from mcp_protogen.servers.inspect.steps import PlanClient, Probe, ProbeStep, awaiting, request_step

LISTEN: Final = "subscriptions/listen"
LISTENING: Final = (LISTEN, f"{LISTEN} of nothing")
"""The steps that open a subscription."""
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

SKILLS: Final = "io.modelcontextprotocol/skills"


def _listen(client: PlanClient, wanted: Mapping[str, Any], **about: Any) -> ProbeStep:
    request = {**client.request(LISTEN, {"notifications": wanted}), **about}
    last = client.request(client.harmless)
    return awaiting(request, last=last, until=ACKNOWLEDGED)


def _listen_to_all(client: PlanClient) -> ProbeStep | None:
    transcript = client.transcript
    changes = {
        method: selector
        for method, selector in selectors_in(transcript.revision).items()
        if selector.path
    }
    if not any(transcript.declares(*selector.path) for selector in changes.values()):
        return None
    uri = first_uri(transcript, "resources/list")
    wanted: dict[str, Any] = {
        selector.member: True for method, selector in changes.items() if is_list_change(method)
    }
    if uri and RESOURCE_UPDATED in changes:
        wanted[changes[RESOURCE_UPDATED].member] = [uri]
    return _listen(client, wanted)


def _listen_to_nothing(client: PlanClient) -> ProbeStep | None:
    return _listen(client, {}, id="listen") if client.transcript.first(LISTEN) else None


def _end(client: PlanClient) -> ProbeStep | None:
    opened = [
        exchange.request["id"] for name in LISTENING for exchange in client.transcript.all(name)
    ]
    return client.tell(*map(cancellation, opened)) if opened else None


_STATELESS: Final[dict[str, Any]] = {"of": is_stateless}
_OF_TASKS: Final[dict[str, Any]] = {**_STATELESS, "declared": ("extensions", TASKS_EXTENSION)}
_TASK: Final[dict[str, Any]] = {"taskId": NONE}
_FIRST_SKILL: Final = partial(of_first, listed_by="skills/list", of=is_stateless)

SUBSCRIPTIONS: Final = (
    Probe(name=LISTEN, make=_listen_to_all, **_STATELESS),
    Probe(name=LISTENING[1], make=_listen_to_nothing, **_STATELESS),
    Probe(name=f"{LISTEN} cancelled", make=_end, framings=(LINES,), **_STATELESS),
)
"""Subscriptions to changes; an inspection itself changes nothing."""


def _task_probes() -> Iterator[Probe]:
    """Yield requests for a task that does not exist, in the core and in the extension."""
    core: dict[str, Any] = {"of": has_core_tasks}
    yield request_step("tasks/list", "tasks/list", declared=("tasks", "list"), **core)
    wrong = {"cursor": NONE}
    yield request_step(
        "tasks/list wrong cursor", "tasks/list", wrong, declared=("tasks", "list"), **core
    )
    for method, declared in (
        ("tasks/get", ("tasks",)),
        ("tasks/result", ("tasks",)),
        ("tasks/cancel", ("tasks", "cancel")),
    ):
        yield request_step(f"unknown task: {method}", method, _TASK, declared=declared, **core)
    meta: dict[str, Any] = {"_meta": {CLIENT_CAPABILITIES: {"extensions": {TASKS_EXTENSION: {}}}}}
    answers: dict[str, Any] = {"inputResponses": {}}
    for method, more in (("tasks/get", {}), ("tasks/cancel", {}), ("tasks/update", answers)):
        yield request_step(
            f"unknown task: {method}", method, {**_TASK, **more, **meta}, **_OF_TASKS
        )
    yield request_step("tasks/get without the extension", "tasks/get", _TASK, **_OF_TASKS)
    yield Probe(
        name=f"{LISTEN} without the extension",
        make=partial(_listen, wanted={"taskIds": [NONE]}),
        **_OF_TASKS,
    )


EXTENSIONS: Final = (
    *_task_probes(),
    request_step("skills/list", "skills/list", declared=("extensions", SKILLS), **_STATELESS),
    _FIRST_SKILL("skills/get", declared=("extensions", SKILLS)),
    _FIRST_SKILL("resources/directory/read", declared=("extensions", SKILLS, "directoryRead")),
)
"""Tasks, and the methods of extensions."""
