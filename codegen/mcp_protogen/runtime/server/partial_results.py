"""Parts of a result, sent before it to clients that asked for them."""

from contextlib import suppress
from typing import Any, ClassVar

from ..core.errors import MissingCapability
from ..core.models.base import shape_of
from ..messages.jsonrpc import LONGEST
from ..rules.partial_results import Parts
from .context import Reports, RequestContext


class _NumberedReports(Reports):
    """The reports of a request, with the number of its next part."""

    __slots__ = ("next",)

    def __init__(self, context: RequestContext) -> None:
        super().__init__(context)
        self.next = 0
        for name in Reports.__slots__ if context.reports_so_far is not None else ():
            setattr(self, name, getattr(context.reports_so_far, name))
        context.reports_so_far = self


class SendsParts:
    """A mixin of generated sessions."""

    __mcp_parts__: ClassVar[Parts]
    _context: RequestContext

    async def send_part(self, **members: Any) -> None:
        """Send a part of the result, if the client asked for parts and can take them.

        `members` are those of the notification, without token and number. The result has to be
        whole all the same. Raise `ValidationError` for members that do not fit.
        """
        context, (method, key, number, _) = self._context, self.__mcp_parts__
        token = context.meta.get(key)
        if type(token) not in (str, int) or not context.is_awaited() or len(str(token)) > LONGEST:
            return
        reports = context.reports
        if not isinstance(reports, _NumberedReports):
            reports = _NumberedReports(context)
        spec = context.table.notifications[method]
        names = shape_of(spec.params).names
        given = {names.get(key, key): token, names.get(number, number): reports.next}
        part = spec.params(**given, **members)
        reports.next += 1
        with suppress(MissingCapability):
            await context.notify(spec, part)
