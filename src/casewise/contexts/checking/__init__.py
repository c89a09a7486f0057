"""What is checked in the wording of a context."""
