"""Updates from the specification: what has moved at its source, and what that means."""
