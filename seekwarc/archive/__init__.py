"""What a user holds: reader, writer, record, payload."""
