"""A run whose calls are handed over in batches, and whose answers are collected by a later session, or by the same one."""
