"""The places that published schemas come from: files, folders, clones, and servers."""
