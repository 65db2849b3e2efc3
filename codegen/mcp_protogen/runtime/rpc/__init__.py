"""A connection driven by asyncio: requests, answers and notifications, both ways."""
