"""The choice of what a run generates: from settings and the lock of the package to options."""
