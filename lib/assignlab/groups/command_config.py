"""``--command-config`` of Kafka's own tools, in the words of librdkafka's client.

The file has properties of Kafka's Java clients. Those that decide on the connection are translated:
``security.protocol``, SASL with its ``sasl.jaas.config``, TLS with its stores. One of them that
cannot be translated is refused by name; properties that are about something else are passed over,
as the tools do it.

Sources: SaslConfigs, SslConfigs and the login modules of kafka-clients 4.3; CONFIGURATION.md of
librdkafka 2.16.
"""

import re
from collections.abc import Callable
from pathlib import Path

from assignlab.errors import AssignlabError

SAME = frozenset({
    "client.dns.lookup", "client.id", "sasl.kerberos.service.name", "sasl.mechanism",
    "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url", "security.protocol",
    "ssl.cipher.suites", "ssl.key.password",
})  # fmt: skip
"""Properties of one name and meaning in both."""
OTHERWISE = {
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "request.timeout.ms": "socket.timeout.ms",
}
"""Properties of one meaning under two names."""
NOT_NEEDED = frozenset({
    "sasl.login.callback.handler.class", "ssl.enabled.protocols", "ssl.protocol",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
"""Properties of the connection that say nothing by themselves."""
CONNECTION = ("sasl.", "security.", "ssl.")
LOGIN = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "Krb5LoginModule": {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    },
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}
"""Java's login modules, and what their options are called in librdkafka."""
KEYTOOL = "keytool -exportcert -rfc -keystore FILE -alias NAME > ca.pem"

_MODULE = re.compile(r"\s*(?:[\w$]+\.)*([\w$]+)\s+(?:required|requisite|sufficient|optional)\b")
_OPTION = re.compile(r"""([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")

Settings = dict[str, str]


def translated(file: Path) -> Settings:
    """librdkafka's settings for the properties in a file.

    OSError where it cannot be read, AssignlabError where it is not understood.
    """
    import javaproperties

    try:
        with file.open("rb") as opened:
            return of_properties(javaproperties.load(opened))
    except (javaproperties.InvalidUEscapeError, AssignlabError) as error:
        raise AssignlabError(f"{file}: {error}") from None


def of_properties(properties: Settings) -> Settings:
    """librdkafka's settings for these properties.

    >>> of_properties({"security.protocol": "SSL", "acks": "all"})
    {'security.protocol': 'SSL'}
    """
    settings = {name: properties[name] for name in properties if name in SAME}
    settings |= {OTHERWISE[name]: properties[name] for name in properties if name in OTHERWISE}
    for name, read in ELSE.items():
        if name in properties:
            # A property goes before an option of the login module.
            settings = read(properties) | settings
    known = SAME | OTHERWISE.keys() | NOT_NEEDED | ELSE.keys()
    for name in properties:
        if name.startswith(CONNECTION) and name not in known:
            raise AssignlabError(f"{name}: librdkafka's client has no such setting; take it out")
    return settings


def _jaas(properties: Settings) -> Settings:
    text = properties["sasl.jaas.config"]
    module = _MODULE.match(text)
    if module is None or module[1] not in LOGIN:
        found = module[1] if module else "no login module"
        raise AssignlabError(
            f"sasl.jaas.config: {found} is not one of {', '.join(LOGIN)}, which can be translated"
        )
    options = {name: _unquoted(value) for name, value in _OPTION.findall(text)}
    names = LOGIN[module[1]]
    settings = {names[option]: options[option] for option in names if option in options}
    if module[1] == "OAuthBearerLoginModule":
        settings["sasl.oauthbearer.method"] = "oidc"
        extensions = [
            f"{name.removeprefix('extension_')}={value}"
            for name, value in options.items()
            if name.startswith("extension_")
        ]
        if extensions:
            settings["sasl.oauthbearer.extensions"] = ",".join(extensions)
    elif module[1] != "Krb5LoginModule":
        missing = [option for option in names if option not in options]
        if missing:
            raise AssignlabError(f"sasl.jaas.config: expected {' and '.join(missing)}")
    return settings


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] in "\"'" else value


def _truststore(properties: Settings) -> Settings:
    kind = properties.get("ssl.truststore.type", "JKS").upper()
    if kind != "PEM":
        raise AssignlabError(
            f"ssl.truststore.type {kind}: expected PEM, since librdkafka reads no other; {KEYTOOL},"
            " then ssl.truststore.type=PEM and ssl.truststore.location=ca.pem"
        )
    return {"ssl.ca.location": properties["ssl.truststore.location"]}


def _keystore(properties: Settings) -> Settings:
    kind = properties.get("ssl.keystore.type", "JKS").upper()
    file = properties["ssl.keystore.location"]
    if kind == "PEM":
        return {"ssl.key.location": file, "ssl.certificate.location": file}
    if kind == "PKCS12":
        password = properties.get("ssl.keystore.password", "")
        return {"ssl.keystore.location": file, "ssl.keystore.password": password}
    raise AssignlabError(
        f"ssl.keystore.type {kind}: expected PEM or PKCS12; keytool -importkeystore -srckeystore FILE"
        " -destkeystore key.p12 -deststoretype PKCS12"
    )


def _endpoint(properties: Settings) -> Settings:
    algorithm = properties["ssl.endpoint.identification.algorithm"].lower()
    return {"ssl.endpoint.identification.algorithm": algorithm or "none"}


ELSE: dict[str, Callable[[Settings], Settings]] = {
    "sasl.jaas.config": _jaas,
    "ssl.truststore.location": _truststore,
    "ssl.keystore.location": _keystore,
    "ssl.endpoint.identification.algorithm": _endpoint,
}
"""Properties that are said otherwise in librdkafka."""
