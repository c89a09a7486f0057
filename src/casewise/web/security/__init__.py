"""What keeps strangers out and requests honest."""
