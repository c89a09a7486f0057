"""The one way in for tables that somebody else made: format, table, mapping, records and receipt."""
