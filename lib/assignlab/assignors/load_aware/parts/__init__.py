"""Steps that the load-aware strategies share."""
