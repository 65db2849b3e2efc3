"""A task in the words of either form (2025-11-25, basic/utilities/tasks, "Data Types")."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from ....core.json import JSONObject, is_object
from ..outcome import text_of
from ..task import Status

_SAME: Final = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt")

_RENAMED: Final[Mapping[str, str]] = MappingProxyType(
    {"ttl": "ttlMs", "pollInterval": "pollIntervalMs"}
)
"""By the names in 2025-11-25, those of the extension."""


def to_core(task: Mapping[str, Any]) -> JSONObject:
    """There, a result of a tool that is an error is a failure ("Task Execution Errors")."""
    core = {name: task[name] for name in _SAME if name in task}
    core |= {ours: task[theirs] for ours, theirs in _RENAMED.items() if theirs in task}
    result, error = task.get("result"), task.get("error")
    said: Any = None
    if is_object(result) and result.get("isError") is True:
        core["status"], said = Status.FAILED.value, text_of(result)
    elif is_object(error):
        said = error.get("message")
    return core if said is None else {"statusMessage": said, **core}


def to_extension(task: Mapping[str, Any]) -> JSONObject:
    """Return a task as the extension writes it, without what belongs to a status."""
    extension = {name: task[name] for name in _SAME if name in task}
    return extension | {theirs: task[ours] for ours, theirs in _RENAMED.items() if ours in task}
