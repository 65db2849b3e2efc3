"""What bridges keep of the tasks that they adapt, and for how long."""

from asyncio import create_task, sleep, wait
from types import SimpleNamespace
from typing import Any

from mcp_protogen.runtime.core.spec import Rules
from mcp_protogen.runtime.features.tasks.bridge.extension_clients import ExtensionClients
from mcp_protogen.runtime.features.tasks.client.calls import TaskCaller


def halves(**members: Any) -> tuple[Any, Any]:
    """The two halves of a bridge, as far as task adapters need them."""
    caller: Any = object.__new__(TaskCaller)
    caller._wire = SimpleNamespace(handles={})

    def write_question(spec: Any, params: object) -> dict[str, Any]:
        return {"method": spec.method, "params": params}

    table = SimpleNamespace(write_question=write_question, rules=Rules())
    client = SimpleNamespace(caller=caller, peer_capabilities=dict, **members)
    return client, SimpleNamespace(owner=SimpleNamespace(TABLE=table))


async def test_a_question_that_is_taken_back_before_anybody_looks_leaves_nothing() -> None:
    adapter = ExtensionClients(*halves())
    spec: Any = SimpleNamespace(method="elicitation/create")
    asking = create_task(adapter.ask("t", spec, None))
    await sleep(0)
    assert len(vars(adapter)["_waiting"]) == 1
    asking.cancel()
    await wait([asking])
    assert len(vars(adapter)["_waiting"]) == 0
