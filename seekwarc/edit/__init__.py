"""A decision about each record, and frames copied: concat, split, filter, redact, dedupe, join."""
