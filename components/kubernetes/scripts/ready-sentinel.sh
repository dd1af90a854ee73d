#!/bin/sh
# Readiness of a Sentinel: it answers. One that watches a replica for two probes, or nothing, watches the primary: Sentinels learn of each
# other at the primary, so it would never hear of that one. One whose certificate has changed ends, because it loads another only when
# it starts; its container starts it again, with what it knows. Files with which no server starts are not waited for: it keeps
# those that it has.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"
. "${0%/*}/sentinels.sh"

# watch_primary: watches the primary that the watched replica follows, or without any the one that others name.
watch_primary() {
  own=$(echo "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | tell localhost 3 26379 | head -n 1)
  if [ -z "$own" ]; then
    primary=$(watched)
    [ -n "$primary" ] || primary=$(leading)
    [ -z "$primary" ] || monitor "$primary" | tell localhost 3 26379 >/dev/null
    return
  fi
  # slave HOST PORT STATE OFFSET
  primary=$(role_of "$own" | sed -n -e '1{/^slave/!q;}' -e 2p)
  if [ -n "$primary" ] && role_of "$primary" | grep -q '^master'; then
    if [ "$(cat /data/replica 2>/dev/null)" != "$own" ]; then
      echo "$own" >/data/replica
      return
    fi
    { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "${primary%.}"; } | tell localhost 3 26379 >/dev/null
  fi
  rm -f /data/replica
}

echo PING | tell localhost 5 26379 | grep -q PONG || exit 1
watch_primary
[ -n "${VALKEY_TLS_CA-}" ] && [ "$(certificate)" != "$(cat /data/certificate)" ] || exit 0
files=${VALKEY_TLS_CA%/*}
# A server that starts runs until the time is up.
timeout 1 valkey-server --port 0 --save '' --dir /data --tls-replication yes --tls-cert-file "$files/tls.crt" \
  --tls-key-file "$files/tls.key" --tls-ca-cert-file "$VALKEY_TLS_CA" >/dev/null
# After the time GNU timeout exits with 124, and busybox timeout with the server's own status after SIGTERM.
case $? in 0 | 124 | 143) echo SHUTDOWN | tell localhost 3 26379 >/dev/null ;; esac
exit 0
