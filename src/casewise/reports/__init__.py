"""Reports: numbers first, then the faces they wear."""
