"""A task in the words of either form: that of 2025-11-25, and that of the extension.

2025-11-25, basic/utilities/tasks, "Data Types"; extension `io.modelcontextprotocol/tasks`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ....core.json import JSONObject, is_object
from ....core.models.base import has_failed
from ..outcome import beginning_of
from ..task import Status

_SAME: Final = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt")

_RENAMED: Final[Mapping[str, str]] = MappingProxyType(
    {"ttl": "ttlMs", "pollInterval": "pollIntervalMs"}
)
"""The names of durations in the extension, by those in 2025-11-25."""


def to_core(task: Mapping[str, Any]) -> JSONObject:
    """Return a task of the extension as 2025-11-25 writes it.

    There, a result of a tool that is an error is a failure ("Task Execution Errors").
    """
    core = {name: task[name] for name in _SAME if name in task}
    core |= {ours: task[theirs] for ours, theirs in _RENAMED.items() if theirs in task}
    result, error = task.get("result"), task.get("error")
    said: Any = None
    if is_object(result) and has_failed(result):
        core["status"], said = Status.FAILED.value, beginning_of(result)
    elif is_object(error):
        said = error.get("message")
    return core if said is None else {"statusMessage": said, **core}


def to_extension(task: Mapping[str, Any]) -> JSONObject:
    """Return a task of 2025-11-25 as the extension writes it, without what belongs to a status."""
    extension = {name: task[name] for name in _SAME if name in task}
    return extension | {theirs: task[ours] for ours, theirs in _RENAMED.items() if ours in task}
