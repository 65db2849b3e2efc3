"""Results that come from another revision, where nothing is translated."""

from typing import Any

import mcp_revisions
from mcp_protogen.runtime.core.losses import LossReport
from mcp_protogen.runtime.core.spec import Condition, Lenient, Rules
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.translation.plans import Arms, Direction, ErrorChange, Method, To
from mcp_protogen.runtime.translation.report import Report
from mcp_protogen.runtime.translation.table import TranslatingTable
from mcp_protogen.runtime.translation.translator import Translator
from support.generated.golden_package import load
from support.revisions import STATELESS


def table_of(revision: str, rules: Rules | None = None) -> MethodTable:
    """Return the methods of a revision with other rules."""
    found: MethodTable = load(revision).methods.TABLE
    return MethodTable(
        revision,
        requests=found.requests,
        notifications=found.notifications,
        errors=found.errors,
        rules=found.rules if rules is None else rules,
    )


def read(own: MethodTable, wire: MethodTable, method: str, result: object) -> Any:
    table = TranslatingTable(own, wire, mcp_revisions, LossReport(own.revision, wire.revision))
    return table.read_result(table.requests[method], result)


def test_result_is_forgiven_what_the_rules_of_its_revision_forgive() -> None:
    rules = Rules(leniency=(Lenient("model", "absent", "unknown"),))
    own, wire = table_of("2025-11-25"), table_of("2025-06-18", rules)
    result = {"role": "assistant", "content": {"type": "text", "text": "Hello"}}
    found = read(own, wire, "sampling/createMessage", result)
    assert type(found) is load("2025-11-25").models.CreateMessageResult
    assert found.model == "unknown"


def test_task_stays_what_it_is_where_own_revision_has_no_tasks() -> None:
    wire = table_of("2025-11-25")
    task = {
        "taskId": "t",
        "status": "working",
        "createdAt": "2025-11-25T00:00:00Z",
        "lastUpdatedAt": "2025-11-25T00:00:00Z",
        "ttl": None,
    }
    own: MethodTable = load(STATELESS).methods.TABLE
    found = read(own, wire, "sampling/createMessage", {"task": task})
    assert type(found) is load("2025-11-25").models.CreateTaskResult
    assert found.task.task_id == "t"


def test_error_with_unknown_params_changes_only_where_no_condition_on_params_is() -> None:
    params = Method(To("Params"), None)
    plans = {"Params": Arms("Params", "kind", arms={"a": To("Params")})}
    change = ErrorChange(-2, "It is so.", params=(Condition("kind"),))
    errors = {("x", -1): (change,), ("x", -3): (ErrorChange(-4, "It is so."),)}
    second = Direction("2", "3", {"x": params}, plans, {}, errors)
    first = Translator(Direction("1", "2", {"x": params}, plans, {}, {}), Translator(second))
    assert first.error("x", (-1, {}), None, Report([])) == (-1, {})
    assert first.error("x", (-3, {}), None, Report([])) == (-4, {})
