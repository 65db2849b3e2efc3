"""The sessions of a server over HTTP, their streams, and what several workers share of them."""
