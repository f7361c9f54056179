"""How the conformance kit reads samples, asks a reader about them, and judges its answers."""
