"""The TLS context from the certificate files of the settings."""

from __future__ import annotations

import ssl

from dynamometer.base.config import Settings, SettingsError


def context(settings: Settings) -> ssl.SSLContext | None:
    """None where no certificate is set: plain HTTP."""
    if settings.tls_cert is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(settings.tls_cert, settings.tls_key)
    except FileNotFoundError:
        raise SettingsError(f"tls_cert {settings.tls_cert} or tls_key {settings.tls_key} does not exist") from None
    except (ssl.SSLError, OSError) as error:
        raise SettingsError(
            f"tls_cert {settings.tls_cert} and tls_key {settings.tls_key} can't be used: {error.strerror or error}"
        ) from None
    return made
