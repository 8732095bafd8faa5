"""How a notebook of a batch enters the Java machine that the batch lends it.

The other end: `assignlab.runner.lending` lends, `assignlab.sweep.keeper` keeps.
"""

import json
import os
from multiprocessing.connection import Client

from assignlab.local.project import LENDER_VARIABLE, RUN_ID_VARIABLE


def lent() -> dict | None:
    """The way into the machine that the batch lends, for :func:`entered`, or None; a process asks once.

    Where it has ended, the next session of the process has a machine of its own.
    """
    address = os.environ.pop(LENDER_VARIABLE, None)
    if not address:
        return None
    try:
        with Client(address, family="AF_UNIX") as lender:
            lender.send_bytes(os.environ.get(RUN_ID_VARIABLE, "").encode())
            return json.loads(lender.recv_bytes())
    except (OSError, EOFError, ValueError):
        # No machine: what is wrong with Java or Spark here is told when the session's own is started.
        return None


def entered(port: int, secret: str):
    """The session that runs on a Java machine already, for this process."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    try:
        gateway = launch_gateway()
        context = gateway.jvm.SparkSession.getDefaultSession().get().sparkContext()
        return SparkSession(
            SparkContext(
                conf=SparkConf(_jconf=context.conf()),
                gateway=gateway,
                jsc=gateway.jvm.JavaSparkContext.fromSparkContext(context),
            )
        )
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
