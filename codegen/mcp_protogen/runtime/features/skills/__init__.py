"""Skills: entries and their files, folders that servers publish, and how clients read them."""
