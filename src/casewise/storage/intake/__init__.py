"""The one way in for tables of other programs and people: format, table, mapping, records and receipt."""
