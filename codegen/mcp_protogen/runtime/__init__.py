"""The runtime of generated code, copied into generated packages or installed beside them.

It imports nothing by itself: Pydantic is loaded with the models.
"""

# SPDX-License-Identifier: Apache-2.0

__version__ = "0.2.0"
