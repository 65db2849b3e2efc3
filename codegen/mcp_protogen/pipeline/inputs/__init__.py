"""The inputs of the generator: pinned schemas, with our facts and texts about them."""
