"""The stage from a normalised schema and facts to the checked intermediate representation."""
