"""The pages of the review room."""
