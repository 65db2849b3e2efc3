"""From two revisions to the tables that translate between them."""
