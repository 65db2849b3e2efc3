"""The texts that all pages share. Nothing is escaped here: each page does that itself."""

from shlex import quote

from mcp_protogen.base.printable import pluralize, summarize_list
from mcp_protogen.base.problems import Problem
from mcp_protogen.instep.update.candidates import Candidate, CandidateState, is_draft
from mcp_protogen.instep.update.dependents import Dependent, InputKind
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.updating import UpdateResult
from mcp_protogen.pipeline.inputs.patch_fit import Fit, PatchFit
from mcp_protogen.pipeline.inputs.pins import Publication
from mcp_protogen.pipeline.reports.pages.ranking import summary as change_summary

SHORT = 12
MOST_SHOWN = 20
"""The length at which a list is cut in pages for people; the JSON has all of it."""

_OWN = {
    Fit.DONE: "upstream fixed this: drop the entry",
    Fit.STALE: "something else is there now: write the entry again, or drop it",
}
_OF_ANOTHER = {
    Fit.FITS: "the same mistake is there: copy the entry",
    Fit.STALE: "something else is there: check whether it needs an entry",
}


def summary(outcome: UpdateResult) -> str:
    """Return the whole outcome on one line."""
    if outcome.accepted is not None:
        candidate = outcome.news[0].finding.candidate
        return f"{candidate.revision} is pinned to {candidate.sha256[:SHORT]}"
    looked = pluralize(len(outcome.candidates), outcome.options.wanted.kind.noun)
    if not outcome.news:
        return f"nothing has moved: {looked} at {source_text(outcome)}"
    names = ", ".join(news.finding.candidate.revision for news in outcome.news)
    return (
        f"something has moved: {len(outcome.news)} of {looked} at {source_text(outcome)}: {names}"
    )


def source_text(outcome: UpdateResult) -> str:
    """Return the source, with its commit if that is known."""
    commit = outcome.source.commit
    return f"{outcome.source.name} at {commit[:SHORT]}" if commit else outcome.source.name


def headline(finding: Finding) -> str:
    """Return the state of a revision, in a few words."""
    candidate = finding.candidate
    if candidate.state is CandidateState.NEW or candidate.state is CandidateState.COPY:
        text = f"{candidate.revision} is {'not pinned' if is_draft(candidate.revision) else 'new'}"
        return f"{text}; it is the file of {candidate.twin}" if candidate.twin else text
    if candidate.state is CandidateState.BEHIND:
        return f"{candidate.revision} is an earlier publication there"
    if candidate.twin:
        return f"{candidate.revision} has moved to the file of {candidate.twin}"
    return f"{candidate.revision} has moved"


def describe_pin(finding: Finding) -> str:
    """Return the publication that is pinned."""
    pin = finding.candidate.pin
    if pin is None:
        return f"nothing yet; it is compared with {finding.compared_with}"
    return _publication(pin.published)


def describe_candidate(candidate: Candidate) -> str:
    """Return the publication that was found."""
    if candidate.known is not None:
        note = f" ({candidate.known.note})" if candidate.known.note else ""
        date = candidate.known.date or "an unknown date"
        return f"{candidate.sha256[:SHORT]}, which is the publication of {date}{note}"
    published = candidate.published
    return _publication(Publication(candidate.sha256, published.commit, published.date))


def changes(finding: Finding) -> str:
    """Return how much differs from the pinned revision."""
    if finding.only_prose:
        return "only in prose, such as descriptions; the structure is the same"
    places = f"the structure differs in {pluralize(len(finding.pointers), 'place')}"
    if finding.comparison is None:
        return f"{places}, with unknown effects"
    if not finding.comparison.changes:
        pointers = summarize_list(finding.pointers, MOST_SHOWN)
        return f"{places}, without effect on messages: {pointers}"
    return f"{change_summary(finding.comparison, None)}; {places}"


def patches(finding: Finding) -> str:
    """Return the state of the patches, on one line."""
    labels = _FITS_OF_ANOTHER if finding.candidate.pin is None else _FITS
    numbers = [(sum(patch.fit is fit for patch in finding.patches), label) for fit, label in labels]
    return ", ".join(f"{number} {label}" for number, label in numbers if number)


def advice(finding: Finding) -> tuple[tuple[PatchFit, str], ...]:
    """Return the patches that need work, with the work."""
    texts = _OF_ANOTHER if finding.candidate.pin is None else _OWN
    return tuple((patch, texts[patch.fit]) for patch in finding.patches if patch.fit in texts)


def effect(dependent: Dependent, finding: Finding) -> str:
    """Return the effect on a package of accepting the finding."""
    if dependent.input_kind is InputKind.FOUND:
        return "made from the same file that was found; it stays as it is"
    if dependent.input_kind is InputKind.OWN_FILE:
        return f"made from its own file, {dependent.source}; it stays as it is"
    made = "made from the pinned file"
    if dependent.input_kind is InputKind.EARLIER:
        made = "made from an earlier publication, and out of date already"
    change = "its lock changes" if finding.only_prose else "its code may change"
    return f"{made}; {change} when it is generated again"


def command(outcome: UpdateResult, finding: Finding) -> str:
    """Return the command that accepts a finding, after the same look."""
    options = outcome.options
    said = {
        "--source": options.source and outcome.source.name,  # without a password in a URL
        "--ref": options.ref,
        "--cache": options.cache,
        "--schema-folder": options.folder,
        "--accept": finding.candidate.sha256[:SHORT],
    }
    arguments = [f"{option} {quote(str(value))}" for option, value in said.items() if value]
    name = f"{finding.candidate.kind.option}{finding.candidate.revision}"
    return " ".join(["mcp-gen update", name, *arguments])


def problem(one: Problem) -> str:
    """Return a problem in one line."""
    where = f"{one.where}: " if one.where else ""
    hint = f" ({one.hint})" if one.hint else ""
    return f"{where}{one.message}{hint}"


_FITS = ((Fit.FITS, "still needed"), (Fit.DONE, "fixed upstream"), (Fit.STALE, "to write again"))
_FITS_OF_ANOTHER = (
    (Fit.FITS, "needed here as well"),
    (Fit.DONE, "not needed here"),
    (Fit.STALE, "to check"),
)


def _publication(publication: Publication) -> str:
    date = f", published {publication.date}" if publication.date else ""
    commit = f" in commit {publication.spec_commit[:SHORT]}" if publication.spec_commit else ""
    return f"{publication.sha256[:SHORT]}{date}{commit}"
