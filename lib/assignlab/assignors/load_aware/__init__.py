"""Strategies that read the weights of partitions; where there are none, every partition weighs 1.

They are written after published rules and sources. No artifact of theirs is on a package index that
could answer in their place, so none of them counts as held against an original.
"""
