"""Builds the site: a staging folder, zensical, and additions to its output."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from website import explorer, llms, navigation, ranking
from website.drawings.svg import UndrawnError
from website.finishing import finish_page
from website.links import DeadLinkError
from website.places import address
from website.scripts import run
from website.staging import stage


class BuildError(Exception):
    """The site could not be built; the text says why."""


def build(
    out: Path, url: str = "", write_explorer: Callable[[Path], object] = explorer.write
) -> None:
    """Build the site into a folder and replace its content; raise `BuildError`.

    `url` is the address of the site. A site without it has no map, which needs whole addresses.
    """
    with TemporaryDirectory() as temporary:
        try:
            built = _built(Path(temporary), url)
            write_explorer(built / "explorer")
        except (DeadLinkError, RuntimeError, UndrawnError) as error:
            raise BuildError(str(error)) from error
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(built, out)


def _built(folder: Path, url: str) -> Path:
    """Build in a folder, and return the folder of the site in it."""
    pages = stage(folder, url)
    # A warning, such as one about a dead link, is an error.
    run(sys.executable, "-m", "zensical", "build", "--strict", folder=folder)
    built = folder / "built"
    edits = _edits(address("Source"))
    for name in pages:
        file = built / f"{name}.html"
        text = finish_page(file.name, file.read_text(encoding="utf-8"), edits.get(name, ""))
        file.write_text(text, encoding="utf-8")
    ranking.lower(built)
    llms.write(built, pages)
    if not url:
        (built / "sitemap.xml").unlink(missing_ok=True)
    return built


def _edits(source: str) -> dict[str, str]:
    """Return the address for editing each page on GitHub; none without a repository."""
    written = (page for page in navigation.pages() if source and not page.made)
    return {page.name: f"{source}/edit/main/{page.file}" for page in written}
