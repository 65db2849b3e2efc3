"""The runtime of generated code: models, method tables, capability checks, and what uses them.

This package is copied, byte for byte, into generated packages, or installed beside them as
`mcp_protogen_runtime`. It imports nothing by itself, so that a package whose models are not needed
yet loads neither them nor Pydantic.
"""

# SPDX-License-Identifier: Apache-2.0

__version__ = "0.1.0"

SERVES_FROM = "0.1.0"
"""The version of the oldest packages that this runtime still serves."""


def require_version(made_for: str, package: str) -> None:
    """Raise `ImportError` unless this runtime serves a package made for a version of it.

    Only a package without a copy of the runtime asks.
    """
    if _numbers(SERVES_FROM) <= _numbers(made_for) <= _numbers(__version__):
        return
    mend = f"put version {made_for} in its place"
    if __name__ == "mcp_protogen_runtime":
        mend = f"pip install 'mcp-protogen-runtime=={made_for}'"
    raise ImportError(
        f"{package} was generated for {__name__} {made_for}, and {__version__} is installed:"
        f" {mend}; or generate {package} anew with mcp-gen {__version__}: mcp-gen sync",
        name=__name__,
    )


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, without what says that it comes before a release."""
    # Not by a regular expression: importing a package loads next to nothing, and they need `enum`.
    digits = ("".join(c if c.isdigit() else " " for c in part) for part in version.split("."))
    return [int(f"0{part}".split()[0]) for part in digits]
