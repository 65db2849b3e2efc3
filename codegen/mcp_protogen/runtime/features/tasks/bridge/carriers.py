"""The choice of a task carrier, by the forms of client and server."""

from ....rules.task_forms import task_form
from ..client.calls import TaskCaller
from .core_clients import CoreClients
from .extension_clients import ExtensionClients
from .plain_clients import ClientWithTasks, PlainClients, ServerWithTasks


class TaskCarriers:
    caller = TaskCaller

    @staticmethod
    def between(client: ClientWithTasks, server: ServerWithTasks) -> PlainClients | None:
        ours, theirs = task_form(server.owner.TABLE), task_form(client.spoken)
        if theirs is None:
            return None
        if ours is None or not client.carries:
            return PlainClients(client, server)
        return (CoreClients if ours == "core" else ExtensionClients)(client, server)
