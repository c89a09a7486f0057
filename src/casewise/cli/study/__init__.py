"""`casewise study`."""
