"""What the parent of worker processes imports and makes once, before it forks."""

from importlib import import_module

from mcp_revisions import MemoryEngine
from support.sharing.schedules import NAMES
from support.sharing.scripted import Hooks, app_of

for _name in ("uvicorn", "redis.asyncio", "psycopg", "support.sharing.task_processes"):
    import_module(_name)
app_of(MemoryEngine(), NAMES, Hooks(print, print), 1.0)
