#!/bin/sh
# Readiness of a Sentinel: it answers. One whose certificate has changed ends, because it loads another only when it starts; its container
# starts it again, with what it knows. Files with which no server starts are not waited for: it keeps those that it has.
. "${0%/*}/node.sh"
. "${0%/*}/sentinels.sh"

echo PING | tell localhost 5 26379 | grep -q PONG || exit 1
[ -n "${VALKEY_TLS_CA-}" ] && [ "$(certificate)" != "$(cat /data/certificate)" ] || exit 0
files=${VALKEY_TLS_CA%/*}
# A server that starts runs until the time is up.
timeout 1 valkey-server --port 0 --save '' --dir /data --tls-replication yes --tls-cert-file "$files/tls.crt" \
  --tls-key-file "$files/tls.key" --tls-ca-cert-file "$VALKEY_TLS_CA" >/dev/null
# After the time GNU timeout exits with 124, and busybox timeout with the server's own status after SIGTERM.
case $? in 0 | 124 | 143) echo SHUTDOWN | tell localhost 3 26379 >/dev/null ;; esac
exit 0
