"""A connection driven by asyncio, in both directions."""
