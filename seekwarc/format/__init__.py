"""Bytes to values and back. Pure: no I/O, no codec, no threads."""
