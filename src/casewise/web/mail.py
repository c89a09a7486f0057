"""Mail to the owner of a study, by SMTP."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage

from casewise.settings import MailSettings

__all__ = ["send_mail"]

TIMEOUT_S = 20


def send_mail(settings: MailSettings, *, to: str, subject: str, text: str) -> None:
    """Send a plain text.

    Raises OSError: the server cannot be reached, or does not take it (`smtplib.SMTPException` is one).
    """
    message = EmailMessage()
    message["From"], message["To"] = settings.sender, to
    message["Subject"] = " ".join(subject.split())
    message.set_content(text)
    over_tls = settings.security == "tls"
    context = ssl.create_default_context()
    made = (
        smtplib.SMTP_SSL(settings.host, settings.port, timeout=TIMEOUT_S, context=context)
        if over_tls
        else smtplib.SMTP(settings.host, settings.port, timeout=TIMEOUT_S)
    )
    with made as server:
        if settings.security == "starttls":
            server.starttls(context=context)
        if settings.user:
            server.login(settings.user, settings.password)
        server.send_message(message)
