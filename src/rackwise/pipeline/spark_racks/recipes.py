"""The four Spark options that give each executor its own `client.rack`.

Spark passes options to its executors as text. So an option has the same value everywhere, unless
the client that reads it looks it up in its own environment:

```
driver      kafka.client.rack = ${env:CLIENT_RACK}      text, sent as it is
executor 1  CLIENT_RACK=az1   ->  client.rack = az1     kafka-clients asks its provider `env`
executor 2  CLIENT_RACK=az2   ->  client.rack = az2
executor 3  no CLIENT_RACK    ->  the text itself       no broker's rack: reads from the leader
```

This works only through the DataFrame API: in SQL text, Spark itself replaces `${env:...}` on the
driver. The driver also sends requests to brokers, so set the variable there too.
`spark.executorEnv.CLIENT_RACK` is one value for all executors.

What this does not do: set the variable. Set it where executors are started.

Source: KIP-392, KIP-887 (kafka-clients 3.5).
"""

from __future__ import annotations

import re

VARIABLE = "CLIENT_RACK"
PREFIX = "kafka."
RACK = "client.rack"
PROVIDERS = "config.providers"
ENV_PROVIDER = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
PLACEHOLDER = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
"""The pattern that kafka-clients replaces: `${provider:key}` or `${provider:path:key}`."""


def client_rack_options(variable: str = VARIABLE) -> dict[str, str]:
    """The options of a Kafka reader or writer, for `.options(**client_rack_options())`.

    >>> client_rack_options()["kafka.client.rack"]
    '${env:CLIENT_RACK}'
    """
    return {
        "kafka.config.providers": "env",
        "kafka.config.providers.env.class": ENV_PROVIDER,
        "kafka.config.providers.env.param.allowlist.pattern": variable,
        "kafka.client.rack": f"${{env:{variable}}}",
    }
