"""From a URI to a record: CDXJ indexes and ZipNum clusters."""
