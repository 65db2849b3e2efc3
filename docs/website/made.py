"""Pages made from code, tables and records when the site is built."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from website import states_and_tables
from website.links import Links, heading_id
from website.places import ROOT
from website.reference import commands, names, texts
from website.reference.topics import TOPICS

MADE: Final[Mapping[str, Callable[[], str]]] = {
    "protocol": states_and_tables.page,
    "reference": names.index,
    "reference-messages": names.messages,
    "reference-generator": names.generator,
    "reference-commands": commands.commands,
    "reference-codes": commands.codes,
    "reference-settings": commands.settings,
    "reference-texts": texts.texts,
    **{topic.page: partial(names.page, topic) for topic in TOPICS},
}
"""The text of each, by the name of its page, as Markdown with the links of the site."""


def files(links: Links) -> str:
    """Return the page of folders that other pages link to, and note the files in them."""
    lines = ["# Files", "", "Files of the project that pages name as a folder."]
    for folder in sorted(links.folders):
        found = sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file())
        links.files.update(f"{folder}/{name}" for name in found)
        lines += ["", f'## {folder} {{ id="{heading_id(folder)}" }}', ""]
        lines += [f"- [{name}](files/{folder}/{name})" for name in found]
    return "\n".join(lines) + "\n"
