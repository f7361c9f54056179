"""Frames to content and back. The only floor that imports zstandard and xxhash."""
