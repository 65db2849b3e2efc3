"""The methods that have to do with tasks, by wire name."""

from typing import Final

CALL: Final = "tools/call"
"""What becomes a task of a server."""

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
