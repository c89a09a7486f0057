"""A room to look around in: runs over one benchmark, item by item, on this machine or as a folder of pages."""
