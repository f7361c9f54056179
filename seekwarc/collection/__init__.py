"""Several files, read as one: segments joined, revisits resolved."""
