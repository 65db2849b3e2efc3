"""What differs between two revisions, or between a revision and somebody's types, as values."""
