"""Models in many copies, on one machine or on several: Ray starts the copies, this room hands them what is asked."""
