"""What a package may have besides: each folder is a feature, which the rest does not import."""
