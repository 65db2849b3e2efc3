"""HTTP sessions, their streams, and sharing between workers."""
