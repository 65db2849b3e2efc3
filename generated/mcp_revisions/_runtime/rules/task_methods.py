"""The methods that have to do with tasks, by wire name."""

from typing import Final

CALL: Final = "tools/call"
"""What becomes a task of a server."""
TOOLS: Final = "tools/list"
"""What says, in 2025-11-25, of which tools calls may be tasks."""

# In both forms.
GET: Final = "tasks/get"
CANCEL: Final = "tasks/cancel"

# In 2025-11-25 alone.
LIST: Final = "tasks/list"
RESULT: Final = "tasks/result"
CORE_CHANGED: Final = "notifications/tasks/status"

# In the extension alone.
UPDATE: Final = "tasks/update"
CHANGED: Final = "notifications/tasks"

TASK_METHODS: Final = frozenset({GET, CANCEL, LIST, RESULT, UPDATE})
"""The requests about tasks, of both forms."""
