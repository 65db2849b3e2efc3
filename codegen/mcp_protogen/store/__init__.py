"""What the generator works from: pinned schemas, and what we know and say about them."""
