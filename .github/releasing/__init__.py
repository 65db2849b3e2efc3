"""Makes a release: what `make release` runs, here and in the workflow alike."""
