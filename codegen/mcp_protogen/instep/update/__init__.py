"""Updates from the specification: the schemas that have moved at their source, and the effects."""
