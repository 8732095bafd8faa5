"""``org.apache.kafka.common.Uuid``: ids of topics, and of members of the consumer protocol."""

import random
import uuid
from base64 import urlsafe_b64encode


def random_uuid(draw: random.Random) -> str:
    """What ``Uuid.randomUuid`` gives, in base64: one that begins with ``-`` is drawn again.

    >>> random_uuid(random.Random(0))
    '4-cGgsIJTKyin2--2CwHzQ'
    """
    while True:
        drawn = uuid.UUID(int=draw.getrandbits(128), version=4)
        text = urlsafe_b64encode(drawn.bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
