"""One side of a connection as a state machine, without input or output."""
