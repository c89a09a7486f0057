"""`casewise judge`."""
