"""The protocols of consumer groups: coordinators and clients, each with the original's steps."""
