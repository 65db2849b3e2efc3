"""What the targets for Python share: modules, the order of definitions, annotations and tables."""
