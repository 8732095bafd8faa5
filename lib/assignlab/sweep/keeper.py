"""Keeps a Java machine with Spark on it for the notebooks of a batch.

Run as a program it starts Spark on this machine, prints ``{"port": ..., "secret": ...}`` and stays
until the Java machine ends. `assignlab.runner.lending` starts and ends it.
"""

import json
import os

from assignlab.local.project import LENDER_VARIABLE
from assignlab.sweep.spark import session


def main() -> None:
    """Start, tell the way in, wait."""
    os.environ.pop(LENDER_VARIABLE, None)  # it lends, and does not borrow
    gateway = session().sparkContext._gateway
    door = gateway.gateway_parameters
    print(json.dumps({"port": door.port, "secret": door.auth_token}), flush=True)
    gateway.proc.wait()


if __name__ == "__main__":
    main()
