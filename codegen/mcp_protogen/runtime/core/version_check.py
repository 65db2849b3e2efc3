"""The check that an installed runtime serves a package; packages with a copy need none."""

from .. import __version__

SERVES_FROM = "0.2.0"
"""The version of the oldest packages that this runtime still serves."""


def require_version(made_for: str, package: str) -> None:
    """Raise `ImportError` unless this runtime serves a package made for a version of it."""
    if _numbers(SERVES_FROM) <= _numbers(made_for) <= _numbers(__version__):
        return
    runtime = __name__.removesuffix(".core.version_check")
    mend = f"put version {made_for} in its place"
    if runtime == "mcp_protogen_runtime":
        mend = f"pip install 'mcp-protogen-runtime=={made_for}'"
    raise ImportError(
        f"{package} was generated for {runtime} {made_for}, and {__version__} is installed:"
        f" {mend}; or generate {package} anew with mcp-gen {__version__}: mcp-gen sync",
        name=runtime,
    )


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, without what says that it comes before a release."""
    # Not by a regular expression: importing a package loads next to nothing, and they need `enum`.
    digits = ("".join(c if c.isdigit() else " " for c in part) for part in version.split("."))
    return [int(f"0{part}".split()[0]) for part in digits]
