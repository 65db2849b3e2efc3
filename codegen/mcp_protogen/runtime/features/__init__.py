"""Features, one folder each. Nothing else in the runtime imports them."""
