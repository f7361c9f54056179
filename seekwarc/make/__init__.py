"""One new kind of file from archives: converted, an index, a sidecar, a WACZ, text, payloads."""
