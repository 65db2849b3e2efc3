"""What tests of the site share: the explorer, made once, and its judge under Node."""
