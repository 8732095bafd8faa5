"""The Java behaviours that decide ties: hash codes, the walk of hash tables, UTF-16 order."""
