"""The originals, asked and compared; what strategies promise, and where originals break it."""
