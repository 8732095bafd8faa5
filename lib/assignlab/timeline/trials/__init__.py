"""Trials: parametrised scenarios whose histories become records of a sweep, or of a notebook."""
