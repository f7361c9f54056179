"""What is in payloads: clips and pictures of films, text, search."""
