"""The methods for tasks, by wire name."""

from typing import Final

# In both kinds of tasks.
GET: Final = "tasks/get"
CANCEL: Final = "tasks/cancel"

# Only in 2025-11-25.
LIST: Final = "tasks/list"
RESULT: Final = "tasks/result"
CORE_CHANGED: Final = "notifications/tasks/status"

# Only in the extension.
UPDATE: Final = "tasks/update"
CHANGED: Final = "notifications/tasks"

TASK_METHODS: Final = frozenset({GET, CANCEL, LIST, RESULT, UPDATE})
