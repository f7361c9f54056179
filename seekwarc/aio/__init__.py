"""Readers, collections, indexes and writers for programs that use asyncio."""
