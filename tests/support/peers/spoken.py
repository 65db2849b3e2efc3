"""What the peers speak, in the versions that are installed here: data about them, not about us.

Of each other revision it is tested that our side says so, and that a class of it serves and uses
the peers in what they speak.
"""

from typing import Final

GENERATION_1: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The Python SDK of generation 1, the TypeScript SDK, and the reference server made with that."""
GENERATION_2: Final = (*GENERATION_1, "2026-07-28")
"""The Python SDK of generation 2."""
