"""Commands that evaluate judges: runs in, numbers out."""
