"""Many files on many machines: parts of files that workers read, records as tables; knows no engine."""
