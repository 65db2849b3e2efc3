"""The runtime of generated code: models, method tables, capability checks, and what uses them.

This package is copied, byte for byte, into generated packages, or installed beside them as
`mcp_protogen_runtime`. It imports nothing by itself, so that a package whose models are not needed
yet loads neither them nor Pydantic.
"""

# SPDX-License-Identifier: Apache-2.0

__version__ = "0.2.0"
