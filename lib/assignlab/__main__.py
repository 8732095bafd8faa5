"""``python -m assignlab``: the command without its script on the PATH."""

from assignlab.cli import main

main()
