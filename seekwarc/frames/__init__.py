"""Frames to content and back. The only floor that imports codecs of Zstandard and xxhash."""
