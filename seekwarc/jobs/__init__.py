"""One job on files: its inputs, parts in processes, progress, outcome; knows no verb."""
