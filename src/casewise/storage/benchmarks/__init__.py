"""A benchmark as a folder, and the other forms it comes in and goes out as."""
