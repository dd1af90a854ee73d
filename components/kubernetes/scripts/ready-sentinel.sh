#!/bin/sh
# Readiness of a Sentinel: it answers. One that watches a replica for two probes, or nothing, watches the primary: Sentinels learn of each
# other at the primary, so it would never hear of that one. One whose certificate has changed ends, because it loads another only when
# it starts; its container starts it again, with what it knows. Files that clients would refuse are not waited for:
# it keeps those that it has.
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
# It asks servers for their replicas every two seconds, not every ten: it fails over to those only that it knows.
echo 'SENTINEL DEBUG info-period 2000' | tell localhost 3 26379 >/dev/null
watch_primary
[ -n "${VALKEY_TLS_CA-}" ] && [ "$(certificate)" != "$(cat /data/certificate)" ] || exit 0
# Sentinels with files that others refuse would neither agree nor see the servers.
! acceptable || echo SHUTDOWN | tell localhost 3 26379 >/dev/null
exit 0
