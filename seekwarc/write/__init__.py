"""Records into files: one file, or a series of them."""
