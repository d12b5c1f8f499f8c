"""Names of OpenSSL for failed connections become one cause and one sentence."""

import ssl

import pytest

from rackwise.core.tls_faults import TlsCause, TlsFault, TlsHints, tls_fault

OF_URLLIB3 = "urllib3.util.ssl_match_hostname"
HINTS = TlsHints(address="the file", authority="add it", own="give one")


def of_openssl(code, kind=ssl.SSLError, **more):
    """An error with the attributes that OpenSSL's have."""
    error = kind(1, "[SSL] canary (_ssl.c:1)")
    for name, value in {"reason": code, **more}.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("code", "cause", "text", "hint"),
    [
        (
            "TLSV1_ALERT_PROTOCOL_VERSION",
            TlsCause.OLD,
            "the server offers no TLS 1.2 or later",
            "enable TLS 1.2 or 1.3 on the server",
        ),
        (
            "NO_PROTOCOLS_AVAILABLE",
            TlsCause.OLD,
            "the server offers no TLS 1.2 or later",
            "enable TLS 1.2 or 1.3 on the server",
        ),
        (
            "TLSV13_ALERT_CERTIFICATE_REQUIRED",
            TlsCause.REJECTED,
            "it requires a certificate of this client",
            "give one",
        ),
        (
            "SSLV3_ALERT_CERTIFICATE_EXPIRED",
            TlsCause.REJECTED,
            "it rejected the certificate of this client: certificate expired",
            "give one",
        ),
        (
            "TLSV1_ALERT_UNKNOWN_CA",
            TlsCause.REJECTED,
            "it rejected the certificate of this client: unknown ca",
            "give one",
        ),
        (
            "WRONG_VERSION_NUMBER",
            TlsCause.NO_TLS,
            "the server there does not use TLS",
            "check host and port in the file",
        ),
        (
            "UNEXPECTED_EOF_WHILE_READING",
            TlsCause.FAILED,
            "the TLS handshake failed: unexpected eof while reading",
            "check host and port in the file, and the log of the server",
        ),
        (
            None,
            TlsCause.FAILED,
            "the TLS handshake failed: the connection ended",
            "check host and port in the file, and the log of the server",
        ),
    ],
)
def test_a_code_is_a_cause_a_sentence_and_a_hint(code, cause, text, hint):
    error = of_openssl(code)
    fault = tls_fault(error)
    assert (fault.cause, fault.text) == (cause, text)
    assert HINTS.of(error, otherwise="-") == hint


def test_a_certificate_that_fails_its_checks_is_named_with_the_words_of_the_check():
    error = of_openssl(
        "CERTIFICATE_VERIFY_FAILED",
        ssl.SSLCertVerificationError,
        verify_message="Hostname mismatch, certificate is not valid for 'a\x1b[31m'.",
    )
    assert tls_fault(error) == TlsFault(
        TlsCause.UNTRUSTED, "Hostname mismatch, certificate is not valid for 'a\\x1b[31m'"
    )
    assert HINTS.of(error, otherwise="-").endswith("if its authority is not known here, add it")


def test_another_name_is_an_error_of_its_own_in_urllib3():
    kind = type("CertificateError", (ValueError,), {"__module__": OF_URLLIB3})
    error = ValueError(kind("hostname 'a' doesn't match 'b\x07'"))
    fault = tls_fault(error)
    assert fault.text == "its certificate is not trusted: hostname 'a' doesn't match 'b\\x07'"


def test_an_error_in_another_error_is_found_once():
    inner = of_openssl("WRONG_VERSION_NUMBER")
    for outer in (OSError(inner), of_openssl(None, OSError, reason=inner)):
        assert tls_fault(outer).cause is TlsCause.NO_TLS
    caused = ValueError("x")
    caused.__cause__ = caused.__context__ = inner
    inner.__context__ = caused
    assert tls_fault(RuntimeError(caused)).cause is TlsCause.NO_TLS


def test_an_error_that_is_not_of_tls_has_no_fault():
    error = ConnectionResetError("x")
    error.__context__ = error
    assert tls_fault(error) is None
    assert HINTS.of(error, otherwise="wait") == "wait"


def test_a_refused_connection_is_not_of_tls_whatever_was_tried_before():
    error = ConnectionRefusedError(111, "Connection refused")
    error.__context__ = of_openssl("WRONG_VERSION_NUMBER")
    assert tls_fault(error) is None
