"""Locks on files, as Linux and macOS have them; elsewhere the import says in one line what to do."""

try:
    import fcntl
except ModuleNotFoundError:
    raise ImportError("sweeps and runs need Linux or macOS: on Windows use WSL 2") from None

__all__ = ["fcntl"]
