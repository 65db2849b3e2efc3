"""The stage from the intermediate representation to verified and formatted modules."""
