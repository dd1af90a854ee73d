#!/bin/sh
# keep-sentinel.sh: one turn of the keeper of a Sentinel (keep.sh). It repairs two states.
#   The Sentinel watches no server, or a server that has been a replica for 15 s: the keeper makes it watch the primary.
#   Sentinels learn of each other through the primary, so this Sentinel would not find the primary by itself.
#   The files of its certificate have changed: the keeper stops the Sentinel, because it loads a certificate only when it starts. The
#   container starts it again with its saved state. If clients would refuse the new files, the Sentinel keeps running with the old ones.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"
. "${0%/*}/copies.sh"
. "${0%/*}/sentinels.sh"

# watch_primary: if this Sentinel watches a replica, makes it watch the primary of that replica. If it watches no server, makes it watch
# the primary that the other Sentinels or the servers name.
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
    lasts 15 /data/replica "$own" || return 0
    echo "keeper: watches ${primary%.}" >&2
    { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "${primary%.}"; } | tell localhost 3 26379 >/dev/null
  fi
  rm -f /data/replica
}

# The Sentinel asks servers for their replicas every two seconds instead of every ten, because it can only promote replicas that it knows.
echo 'SENTINEL DEBUG info-period 2000' | tell localhost 3 26379 | grep -q OK || exit 3
watch_primary
[ -n "${VALKEY_TLS_CA-}" ] && [ "$(certificate)" != "$(cat /data/certificate)" ] || exit 0
# With files that the others refuse, a Sentinel could not agree with other Sentinels, and could not reach the servers.
! acceptable || echo SHUTDOWN | tell localhost 3 26379 >/dev/null
