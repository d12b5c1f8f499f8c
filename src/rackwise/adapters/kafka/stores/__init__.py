"""Java's stores of keys and certificates: JKS, PKCS12 and PEM, as a client's TLS context."""
