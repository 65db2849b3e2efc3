"""The site: pages of `docs`, and pages made from our data, as static files."""
