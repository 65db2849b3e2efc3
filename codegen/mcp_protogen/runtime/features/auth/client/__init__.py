"""The client's part: the flow without input or output, and what carries it out."""
