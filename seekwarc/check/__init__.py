"""Looks at files and says what is wrong: describe, verify, recover, validate a WACZ."""
