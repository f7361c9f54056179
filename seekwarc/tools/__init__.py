"""Work on whole files."""
