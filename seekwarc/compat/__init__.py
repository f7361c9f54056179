"""Other people's interfaces to archives. Each module imports the package whose interface it is."""
