#!/bin/sh
# Readiness of a Sentinel: it answers. One that watches a replica watches the primary that most others name: Sentinels learn of each other
# at the primary, so it would never hear of that one (it was starting when the others were told). One whose certificate has changed ends, because it loads another only when it starts; its container
# starts it again, with what it knows. Files with which no server starts are not waited for: it keeps those that it has.
. "${0%/*}/node.sh"
. "${0%/*}/sentinels.sh"

role_of() { echo ROLE | tell "$1" 2 | head -n 1; }

# watch_primary: watches the primary of most others where this Sentinel's own is a replica.
watch_primary() {
  own=$(echo "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | tell localhost 3 26379 | head -n 1)
  other=$(watched "$(most)")
  [ -n "$other" ] && [ "$other" != "$own" ] && [ "$(role_of "$own")" = slave ] && [ "$(role_of "$other")" = master ] || return 0
  { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "$other"; } | tell localhost 3 26379 >/dev/null
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
