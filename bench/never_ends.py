"""In which releases of other clients a rebalance can never end: ``python bench/never_ends.py``.

Kafka's own releases are asked by ``assignlab proof museum``. Here releases of kafka-python, aiokafka
and sarama, fetched by pip and go, are given the museum's group (tests/data/groups/never-ends.json), and
releases of librdkafka, fetched by npm as source and built, a group of five fresh members that claim
nothing. Each has ``SECONDS``; then its innermost functions are told. librdkafka takes about two minutes a
release:

    python bench/never_ends.py kafka-python
"""

import argparse
import base64
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from arguments import one_of

from assignlab.proof import bridges
from assignlab.proof.golden import NEVER_ENDS

SECONDS = 5
KAFKA_PYTHON = ("2.0.2", "2.1.0", "2.2.0", "2.3.3", "3.0.0", "3.0.6", "3.0.11", "3.0.12")
AIOKAFKA = ("0.10.0", "0.11.0", "0.12.0", "0.13.0", "0.14.0")
SARAMA = ("1.40.1", "1.43.3", "1.46.3", "1.61.1")

ASK_PYTHON = """
import json, logging, signal, sys
sys.path.insert(0, sys.argv[1])
from PACKAGE.coordinator.assignors.sticky import sticky_assignor as sticky
from PACKAGE.structs import TopicPartition
logging.disable(logging.CRITICAL)
group = json.load(open(sys.argv[2]))
counts = {topic["name"]: topic["partitions"] for topic in group["topics"]}

class Cluster:
    topics = staticmethod(lambda: set(counts))
    partitions_for_topic = staticmethod(lambda topic: set(range(counts[topic])))

def stop(_, frame):
    names = []
    while frame.f_code.co_name != "<module>":
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    print("never ends:", " < ".join(names))
    sys.exit()

members = {
    member["id"]: sticky.StickyAssignorMemberMetadataV1(
        subscription=member["topics"], generation=member.get("generation", -1),
        partitions=[TopicPartition(*pair) for pair in member.get("owned", ())],
    )
    for member in group["members"]
}
signal.signal(signal.SIGALRM, stop)
signal.alarm(int(sys.argv[3]))
executor = sticky.StickyAssignmentExecutor(Cluster, members)
executor.perform_initial_assignment()
executor.balance()
print("answers", *(len(executor.get_final_assignment(member)) for member in members))
"""

ASK_SARAMA = """
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/IBM/sarama"
)

func main() {
	var group struct {
		Topics  map[string][]int32
		Members map[string]sarama.ConsumerGroupMemberMetadata
		Seconds time.Duration
	}
	if err := json.NewDecoder(os.Stdin).Decode(&group); err != nil {
		panic(err)
	}
	go func() {
		time.Sleep(group.Seconds * time.Second)
		stack := make([]byte, 1<<20)
		fmt.Printf("%s", stack[:runtime.Stack(stack, true)])
		os.Exit(0)
	}()
	plan, err := sarama.NewBalanceStrategySticky().Plan(group.Members, group.Topics)
	fmt.Print("answers", err, len(plan))
}
"""

ASK_LIBRDKAFKA = r"""
#include "rdkafka_sticky_assignor.c"
#include <execinfo.h>
#include <signal.h>

static void stop(int number) {
        void *frames[16];
        int i, n = backtrace(frames, 16);
        for (i = 2; i < n; i++)
                printf("%p ", frames[i]);
        fflush(stdout);
        _exit(1);
}

int main(int argc, char **argv) {
        char reason[256];
        rd_kafka_conf_t *conf = rd_kafka_conf_new();
        rd_kafka_group_member_t members[5];
        rd_kafka_metadata_t *metadata;
        rd_kafka_t *rk;
        int i;

        rd_kafka_conf_set(conf, "group.id", "g", reason, sizeof(reason));
        rd_kafka_conf_set(conf, "partition.assignment.strategy", "cooperative-sticky", reason,
                          sizeof(reason));
        rk       = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
        metadata = rd_kafka_metadata_new_topic_mockv(3, "t", 2, "u", 2, "v", 3);
        ut_init_member(&members[0], "A", "t", NULL);
        ut_init_member(&members[1], "B", "t", "u", NULL);
        ut_init_member(&members[2], "C", "u", NULL);
        ut_init_member(&members[3], "D", "u", NULL);
        ut_init_member(&members[4], "E", "t", "v", NULL);
        signal(SIGALRM, stop);
        alarm(atoi(argv[1]));
        rd_kafka_assignor_run(rk->rk_cgrp, rd_kafka_assignor_find(rk, "cooperative-sticky"),
                              metadata, members, 5, reason, sizeof(reason));
        printf("answers");
        for (i = 0; i < 5; i++)
                printf(" %d", members[i].rkgm_assignment->cnt);
        fflush(stdout);
        _exit(0);
}
"""


def run(*command: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip() or "cannot be asked"


def in_python(release: str, folder: Path, client: str, package: str, *needs: str) -> str:
    """Whether a release of kafka-python or aiokafka answers: the sizes, or where it is."""
    target = str(folder / release)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", target]
    subprocess.run([*pip, f"{client}=={release}", *needs], check=True)
    ask = ASK_PYTHON.replace("PACKAGE", package)
    return run(sys.executable, "-c", ask, target, str(NEVER_ENDS), str(SECONDS))


def aiokafka(release: str, folder: Path) -> str:
    """The same of aiokafka, beside what it needs."""
    return in_python(release, folder, "aiokafka", "aiokafka", *bridges.AIOKAFKA_NEEDS)


def sarama(release: str, folder: Path) -> str:
    """The same of sarama's sticky strategy."""
    module = folder / release
    module.mkdir()
    (module / "main.go").write_text(ASK_SARAMA, "utf-8")
    go = ["mod init ask", f"get github.com/IBM/sarama@v{release}", "build -o ask ."]
    for step in go:
        subprocess.run(["go", *step.split()], cwd=module, check=True, capture_output=True)
    group = json.loads(NEVER_ENDS.read_text("utf-8"))
    question = {
        "Topics": {t["name"]: list(range(t["partitions"])) for t in group["topics"]},
        "Members": {
            m["id"]: {"Topics": m["topics"], "UserData": claim(m)} for m in group["members"]
        },
        "Seconds": SECONDS,
    }
    done = subprocess.run(
        [module / "ask"], input=json.dumps(question), stdout=subprocess.PIPE, text=True, check=True
    )
    if done.stdout.startswith("answers"):
        return done.stdout
    lines = [line.split("(0x")[0] for line in done.stdout.splitlines() if "sarama." in line]
    names = [line.removeprefix("github.com/IBM/sarama.").split("({")[0] for line in lines]
    return f"never ends: {' < '.join(names)}"


def claim(member: dict) -> str:
    """A member's claims as the sticky strategy sends them, its user data in version 1, in base 64."""
    owned: dict[str, list[int]] = {}
    for topic, partition in member.get("owned", ()):
        owned.setdefault(topic, []).append(partition)
    data = struct.pack(">i", len(owned))
    for topic, partitions in owned.items():
        data += struct.pack(">h", len(topic)) + topic.encode()
        data += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return base64.b64encode(data + struct.pack(">i", member.get("generation", -1))).decode()


def librdkafka(release: str, folder: Path) -> str:
    """The same of librdkafka."""
    source = bridges.librdkafka(folder, release)
    code, program = folder / "ask.c", folder / f"ask-{release}"
    code.write_text(ASK_LIBRDKAFKA, "utf-8")
    bridges.link(source, program, code, "-O0", "-g", "-no-pie")
    told = run(str(program), str(SECONDS))
    if not told.startswith("0x"):
        return told
    names = run("addr2line", "-f", "-e", str(program), *told.split()).splitlines()[::2]
    inner = [name for name in names[: names.index("balance") + 1] if name != "??"]
    return f"never ends: {' < '.join(inner)}"


CLIENTS: dict[str, tuple[Sequence[str], Callable[[str, Path], str]]] = {
    "kafka-python": (KAFKA_PYTHON, partial(in_python, client="kafka-python", package="kafka")),
    "aiokafka": (AIOKAFKA, aiokafka),
    "sarama": (SARAMA, sarama),
    "librdkafka": (tuple(bridges.LIBRDKAFKA), librdkafka),
}


def main(clients: list[str]) -> None:
    print("| client | release | answer |")
    print("| --- | --- | --- |")
    for client in clients or CLIENTS:
        releases, ask = CLIENTS[client]
        with tempfile.TemporaryDirectory() as folder:
            for release in releases:
                print(f"| {client} | {release} | {ask(release, Path(folder))} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    told = f"{', '.join(CLIENTS)}; else all"
    parser.add_argument("clients", nargs="*", type=one_of("client", CLIENTS), help=told)
    main(parser.parse_args().clients)
