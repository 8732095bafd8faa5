"""The engine of a simulation: time, logs, poll loops, histories; it knows no protocol."""
