"""The standard, sentence by sentence: what WARC 1.1 says shall be, writers, checkers and readers do."""
