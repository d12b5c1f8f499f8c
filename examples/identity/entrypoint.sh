#!/bin/sh
# Entrypoint of a Kafka container that keeps its broker's id when its volume is replaced.
#
#   POD_NAME   who this broker is, stable over restarts: a stateful set's pod name
#   CONFIG     server.properties, without broker.id
#
# Run it under an init (docker run --init, or shareProcessNamespace): process 1 should reap.
set -eu

: "${POD_NAME:?set it to a name that stays the same over restarts}"
CONFIG="${CONFIG:-/etc/kafka/server.properties}"

exec rackwise broker-id acquire \
    --server-properties "$CONFIG" \
    --key env:POD_NAME \
    -- /opt/kafka/bin/kafka-server-start.sh "$CONFIG" "$@"
