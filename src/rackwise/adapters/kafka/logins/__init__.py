"""Logins that send a token in place of a password: SASL/OAUTHBEARER, and IAM of Amazon MSK."""
