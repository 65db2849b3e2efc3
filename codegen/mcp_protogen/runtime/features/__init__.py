"""Features, a folder each, which nothing else in the runtime imports."""
