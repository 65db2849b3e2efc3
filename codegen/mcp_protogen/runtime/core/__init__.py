"""Values, errors and options shared by the whole runtime."""
