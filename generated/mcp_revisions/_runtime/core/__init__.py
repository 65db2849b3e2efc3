"""Values, errors and options that every part of the runtime shares."""
