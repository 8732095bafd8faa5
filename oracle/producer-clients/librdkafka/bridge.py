"""librdkafka's partitioners, called in the shared library that confluent-kafka brings along.

JSON lines: a producer's history in, its partitions out; null where the same question got different
answers, that is, where librdkafka drew.
"""

import ctypes
import glob
import json
import os
import sys

import confluent_kafka

CALLS = 40
beside = os.path.join(os.path.dirname(confluent_kafka.__file__), "..", "confluent_kafka.libs")
library = ctypes.CDLL(glob.glob(os.path.join(beside, "librdkafka*.so*"))[0])
library.rd_kafka_new.restype = ctypes.c_void_p
library.rd_kafka_topic_new.restype = ctypes.c_void_p
library.rd_kafka_topic_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
reason = ctypes.create_string_buffer(512)
producer = library.rd_kafka_new(0, None, reason, ctypes.c_size_t(len(reason)))
topic = library.rd_kafka_topic_new(producer, b"t", None)


def chosen(function, key, partitions):
    pointer = None if key is None else ctypes.c_char_p(key)
    length = ctypes.c_size_t(0 if key is None else len(key))

    def call():
        return function(
            ctypes.c_void_p(topic), pointer, length, ctypes.c_int32(partitions), None, None
        )

    answers = {call() for _ in range(CALLS)}
    return answers.pop() if len(answers) == 1 else None


for line in sys.stdin:
    history = json.loads(line)
    setting = history["partitioner"].removeprefix("librdkafka-").replace("-", "_")
    function = getattr(library, f"rd_kafka_msg_partitioner_{setting}", None)
    if function is None:
        print(json.dumps({"error": f"BadDocument: no partitioner {history['partitioner']}"}))
        continue
    function.restype = ctypes.c_int32
    partitions = [
        chosen(
            function,
            None if step[2] is None else bytes.fromhex(step[2]),
            history["topics"][step[1]]["partitions"],
        )
        for step in history["steps"]
        if step[0] == "send"
    ]
    print(json.dumps({"partitions": partitions}))
