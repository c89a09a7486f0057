"""Mail over TLS, to a real server on loopback with a certificate of its own."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.postgres import free_port

from casewise.settings import MailSettings
from casewise.web.errors import send_mail


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(params=["tls", "starttls"])
def server(request, certificate):
    """A mail server that speaks TLS from the first byte, or after STARTTLS and a password."""
    controllers = pytest.importorskip("aiosmtpd.controller")
    smtp = pytest.importorskip("aiosmtpd.smtp")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    kept = []

    class Box:
        async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's name
            over_tls = session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None
            kept.append(SimpleNamespace(to=envelope.rcpt_tos, over_tls=over_tls, text=envelope.content.decode()))
            return "250 OK"

    def known(_server, _session, _envelope, _mechanism, said):
        return smtp.AuthResult(success=said.login == b"ada" and said.password == b"plum")

    from_first = request.param == "tls"  # where aiosmtpd takes no password without a warning
    more = (
        {"ssl_context": context}
        if from_first
        else {"tls_context": context, "require_starttls": True, "authenticator": known, "auth_required": True}
    )
    controller = controllers.Controller(Box(), hostname="127.0.0.1", port=free_port(), **more)
    controller.start()
    yield SimpleNamespace(
        kept=kept,
        mail=MailSettings(
            host="127.0.0.1",
            port=controller.port,
            security=request.param,
            sender="us@lab.edu",
            user="" if from_first else "ada",
            password="" if from_first else "plum",
        ),
    )
    controller.stop()


def test_a_letter_goes_over_tls_to_a_server_whose_certificate_is_trusted(server, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    send_mail(server.mail, to="owner@lab.edu", subject="It\nstalls", text="No rating for an hour.")

    (letter,) = server.kept
    assert letter.to == ["owner@lab.edu"]
    assert letter.over_tls
    assert "Subject: It stalls" in letter.text


def test_a_server_that_nobody_vouches_for_gets_no_letter_and_no_password(server):
    with pytest.raises(ssl.SSLCertVerificationError):
        send_mail(server.mail, to="owner@lab.edu", subject="It stalls", text="No rating for an hour.")
    assert server.kept == []
