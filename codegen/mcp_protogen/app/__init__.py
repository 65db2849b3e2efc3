"""What the commands do, as functions from settings to a report."""
