"""Real consumer groups on a real broker, recorded, and the timeline beside them."""
