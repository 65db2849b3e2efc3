"""From a normalised schema and facts to the intermediate representation, cross-checked."""
