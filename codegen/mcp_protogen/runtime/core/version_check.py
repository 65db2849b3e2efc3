"""The version check of packages that use an installed runtime."""

from .. import __version__

SERVES_FROM = "0.2.0"
"""The oldest package version that this runtime supports."""


def require_version(made_for: str, package: str) -> None:
    """Raise `ImportError` if this runtime does not support packages made for `made_for`."""
    if _numbers(SERVES_FROM) <= _numbers(made_for) <= _numbers(__version__):
        return
    runtime = __name__.removesuffix(".core.version_check")
    mend = f"install version {made_for}"
    if runtime == "mcp_protogen_runtime":
        mend = f"pip install 'mcp-protogen-runtime=={made_for}'"
    raise ImportError(
        f"{package} was generated for {runtime} {made_for}, and {__version__} is installed:"
        f" {mend}; or generate {package} anew with mcp-gen {__version__}: mcp-gen sync",
        name=runtime,
    )


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version without a pre-release suffix."""
    # No regular expression: importing a package must load almost nothing, and `re` needs `enum`.
    digits = ("".join(c if c.isdigit() else " " for c in part) for part in version.split("."))
    return [int(f"0{part}".split()[0]) for part in digits]
