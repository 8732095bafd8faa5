"""What an assignor sees and gives: groups, assignments, and the JSON document of both."""

from assignlab.group.plain import group

__all__ = ["group"]
