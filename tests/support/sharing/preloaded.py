"""What the parent of worker processes imports and makes once, before it forks."""

from importlib import import_module

from mcp_revisions import MemoryEngine
from support.sharing.task_processes import app_on

for _name in ("uvicorn", "redis.asyncio", "psycopg"):
    import_module(_name)
app_on(MemoryEngine())
