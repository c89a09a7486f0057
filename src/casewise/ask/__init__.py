"""The messages that a judge is sent, and the reading of its reply."""
