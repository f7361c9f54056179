"""What the rooms below have, for programs that use asyncio."""
