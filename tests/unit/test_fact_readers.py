"""Every key of the formats of facts has a function that reads it."""

from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.pipeline.inputs.facts import Facts
from support.tables import case
from support.unit.fact_readers import OF_REVISIONS, Readers, find_readers

# For people who check a fact, or decide it.
FOR_PEOPLE = ("choices", "difference", "reason", "source")
# Facts of extensions that become facts of a revision, where they are read.
MERGED = ("enums", "errors", "methods", "open_strings", "places", "unions")


def test_facts_have_no_key_that_nothing_reads() -> None:
    of_revisions, of_extensions = find_readers()
    for readers in (of_revisions, of_extensions):
        for place in readers.places():
            _, section, *_ = place.split("/")
            found = readers.found.get(place, set())
            if readers is of_extensions and section in MERGED:
                found |= of_revisions.found.get(place, set())
            with case(f"{readers.format}: {place}"):
                assert found or place.endswith(FOR_PEOPLE), "remove it, or read it"


def test_a_function_reads_the_keys_whose_values_it_takes() -> None:
    readers = Readers(OF_REVISIONS)
    lifecycle = {"era": "stateless", "source": "basic/index"}
    facts = Facts("made-up", readers.wrap({"lifecycle": lifecycle}, readers.schema), "made-up")
    assert merge_patch(facts.document, {})["lifecycle"]["era"] == "stateless"
    assert readers.found == {}
    assert facts.era == "stateless"
    reader = {"mcp_protogen.pipeline.inputs.facts:Facts.era"}
    assert readers.found == {"/lifecycle": reader, "/lifecycle/era": reader}
