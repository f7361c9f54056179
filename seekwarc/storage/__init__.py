"""Bytes by range: where stored bytes come from."""
