"""What several workers share: the interfaces of an engine that keeps it, and engines."""
