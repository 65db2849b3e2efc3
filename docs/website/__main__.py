"""`python -m website`: build the site."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from website.building import BuildError, build
from website.places import SITE, address


def main() -> int:
    """Run the command line and return its exit code."""
    parser = ArgumentParser("python -m website", description="Build the site as static files.")
    parser.add_argument("--out", type=Path, default=SITE, metavar="DIR", help="the built site")
    parser.add_argument(
        "--url", default="", help="where it will be, if not where pyproject.toml says"
    )
    options = parser.parse_args()
    try:
        build(options.out, options.url or address("Documentation"))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"built {options.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
