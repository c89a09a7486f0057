"""What every page stands in: templates, and who is asking."""
