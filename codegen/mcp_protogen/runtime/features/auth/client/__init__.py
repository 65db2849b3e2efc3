"""The client's part: flows without input or output, and their driver."""
