"""Common code of targets for Python: modules, order of definitions, annotations and tables."""
