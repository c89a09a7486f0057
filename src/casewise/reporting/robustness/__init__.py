"""What attacks do to a judge, laid out."""
