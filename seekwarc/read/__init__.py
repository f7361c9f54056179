"""One file, read: records, and the ranges of their bytes."""
