"""The pages of the study: for annotators, and for its owner."""
