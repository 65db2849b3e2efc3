"""Projects: starting one, and finding its generated package again to keep it in step."""
