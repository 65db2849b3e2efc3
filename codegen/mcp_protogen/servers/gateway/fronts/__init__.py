"""The servers that clients see, and the upstream servers mounted in them."""
