"""The page of `mcp-gen update`: options in, moved schemas out."""

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.instep.update.pages import UpdateFormat, render
from mcp_protogen.instep.update.updating import UpdateOptions, update
from mcp_protogen.pipeline.reports.view import FindingsPage, View

_WITH_NOTICES = (UpdateFormat.JSON, UpdateFormat.GITHUB)
"""The formats that include notices."""


def update_page(options: UpdateOptions, view: View) -> FindingsPage:
    """Look at published schemas, and return the page of the moved ones.

    A command fails if something has moved and is not accepted. Raise `ProblemError`.
    """
    _refuse_conflicts(options)
    outcome, format = update(options), UpdateFormat(view.format)
    notes = () if format in _WITH_NOTICES else tuple(outcome.notices)
    failed = bool(outcome.news) and outcome.accepted is None
    return FindingsPage(render(format, outcome, colour=view.colour), failed, notes)


def _refuse_conflicts(options: UpdateOptions) -> None:
    wanted = options.wanted
    both = sorted({*wanted.revisions} & {*wanted.ignored})
    if both:
        raise conflict(f"{both[0]} is both named and ignored")
