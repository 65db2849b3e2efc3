"""The choice of a task adapter, by the kinds of client and server."""

from ....rules.task_kinds import task_kind
from ..client.calls import TaskCaller
from .core_clients import CoreClients
from .extension_clients import ExtensionClients
from .plain_clients import ClientWithTasks, PlainClients, ServerWithTasks
from .same_clients import SameClients


class TaskAdapters:
    caller = TaskCaller

    @staticmethod
    def between(client: ClientWithTasks, server: ServerWithTasks) -> PlainClients | None:
        ours, theirs = task_kind(server.owner.TABLE), task_kind(client.spoken)
        if theirs is None:
            return None
        if ours is None or not client.carries:
            return PlainClients(client, server)
        if ours == "core":
            return CoreClients(client, server)
        return (ExtensionClients if theirs == "core" else SameClients)(client, server)
