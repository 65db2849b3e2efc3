"""Messages without an answer: they are posted, and accepted or refused."""

from ...core.errors import Disconnected, RemoteError
from .outgoing import Message
from .response_rules import HttpReply, http_error
from .state import ClientState


async def post_note(link: ClientState, message: Message) -> int:
    """Post a notification or a response; return the status, or 0 if it did not arrive.

    Nobody waits for an answer, so errors are logged and not raised.
    """
    headers = link.conversation.headers(message)
    try:
        async with link.wire.open("POST", headers, message.body) as incoming:
            # Some servers accept such a message with a body or a stream; neither is read.
            accepted = 200 <= incoming.status < 300
            reply = HttpReply(incoming.status, "", b"") if accepted else await incoming.reply()
    except (Disconnected, RemoteError) as error:
        link.log.warning("%s did not arrive: %s", message.name, error)
        return 0
    if not accepted:
        refusal = http_error(f"POST {message.name}", reply)
        link.log.warning("%s was refused: %s", message.name, refusal)
    return reply.status
