"""A real broker behind TLS, SASL and ACLs, asked with the file that Kafka's own tools take."""

import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab import groups
from assignlab.cli import main
from assignlab.errors import AssignlabError, UnknownName
from assignlab.proof.originals import OriginalsUnavailable, java
from assignlab.reality.broker import Broker, free_port
from assignlab.reality.hosts import JAVA, Client, Host, Inbox

RELEASE = "4.4.0"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "
MEMBERS = [("billing", "classic"), ("mail", "consumer"), ("hidden", "classic")]
READABLE = ("billing", "mail")
SETTLED_S = 8


def keytool(folder: Path, *arguments: str) -> None:
    """Java's own tool makes the keys."""
    command = [str(Path(java()).with_name("keytool")), *arguments, "-alias", "broker"]
    store = ["-keystore", "broker.p12", "-storetype", "PKCS12", "-storepass", "secret"]
    subprocess.run([*command, *store], cwd=folder, check=True, capture_output=True)


def behind_tls(folder: Path) -> dict[str, str]:
    """The broker's settings: its key, users, and an authorizer that lets only the plain listener in."""
    keytool(folder, "-genkeypair", "-keyalg", "RSA", "-dname", "CN=broker",
            "-ext", "SAN=ip:127.0.0.1")  # fmt: skip
    keytool(folder, "-exportcert", "-rfc", "-file", "ca.pem")
    return {
        "ssl.keystore.location": str(folder / "broker.p12"),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "secret",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN}user_reader="read me";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def properties(folder: Path, password: str = "read me", **more: str) -> Path:
    """The file of a client."""
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN}username="reader" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
    } | more
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


def allow(broker: Broker) -> None:
    """The ACLs of docs/your-group.md, and none beside."""
    from confluent_kafka import admin

    bindings = [
        admin.AclBinding(
            kind, name, admin.ResourcePatternType.LITERAL, "User:reader", "*",
            admin.AclOperation.DESCRIBE, admin.AclPermissionType.ALLOW,
        )
        for kind, name in (
            (admin.ResourceType.TOPIC, "orders"),
            *((admin.ResourceType.GROUP, group) for group in READABLE),
        )
    ]  # fmt: skip
    client = admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in client.create_acls(bindings).values():
        future.result()


@contextmanager
def running(folder: Path):
    """(broker, the address of its TLS listener): two members in each group."""
    secure = f"127.0.0.1:{free_port()}"
    with Broker(RELEASE, behind_tls(folder), f"SASL_SSL://{secure}") as broker:
        inbox = Inbox()
        with Host(Client(JAVA, RELEASE), broker.bootstrap, inbox) as host:
            host.tell("create", topic="orders", partitions=5)
            inbox.wait("orders", "created")
            allow(broker)
            for group, protocol in MEMBERS:
                for name in "ab":
                    key = f"{group}/{name}"
                    settings = {
                        "bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": name,
                        "group.protocol": protocol,
                    }  # fmt: skip
                    host.tell("prepare", key=key, settings=settings, topics=["orders"])
                    inbox.wait(key, "ready")
                    host.tell("start", key=key)
            time.sleep(SETTLED_S)
            yield broker, secure


@pytest.mark.slow
def test_behind_tls_sasl_and_acls_the_same_groups_are_read(tmp_path):
    pytest.importorskip("confluent_kafka")
    try:
        with running(tmp_path) as (broker, secure):
            plain = {group["group"]: group for group in groups.read(groups.Live(broker.bootstrap))}
            file = properties(tmp_path)
            told = groups.read(groups.Live(secure, file))
            asked = f"group document --bootstrap-server {secure} --command-config {file}"
            printed = CliRunner().invoke(main, asked.split())
            with pytest.raises(UnknownName, match="unknown group 'hidden'; allowed: billing, mail"):
                groups.read(groups.Live(secure, file, ["hidden"]))
            for says, change in (
                ("authentication", {"password": "guess"}),
                ("certificate", {"ssl.truststore.location": str(stranger(tmp_path))}),
            ):
                with pytest.raises(AssignlabError, match=f"(?i){says}") as refused:
                    groups.read(groups.Live(secure, properties(tmp_path, **change)))
                assert "\n" not in str(refused.value)
    except OriginalsUnavailable as missing:
        pytest.skip(str(missing))
    assert set(plain) == {group for group, _ in MEMBERS}
    assert told == [plain[group] for group in sorted(READABLE)]
    assert printed.exit_code == 0
    assert [json.loads(line) for line in printed.output.splitlines()] == told
    assert all(len(member["owned"]) >= 2 for group in told for member in group["members"])


def stranger(folder: Path) -> Path:
    """A certificate that the broker's is not signed by."""
    other = folder / "other"
    other.mkdir()
    keytool(other, "-genkeypair", "-keyalg", "RSA", "-dname", "CN=stranger")
    keytool(other, "-exportcert", "-rfc", "-file", "ca.pem")
    return other / "ca.pem"
