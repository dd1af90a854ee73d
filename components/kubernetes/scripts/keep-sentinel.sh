#!/bin/sh
# keep-sentinel.sh: one turn of the keeper of a Sentinel (keep.sh). It repairs two states.
#   The Sentinel watches no server, or one that has been a replica for 15 s, or one that has not answered for 15 s and of which it knows no
#   replica that it could promote: the keeper makes it watch the primary. Sentinels learn of each other and of replicas through the
#   primary, so this Sentinel would not find the primary by itself.
#   The files of its certificate have changed: the keeper stops the Sentinel, because it loads a certificate only when it starts. The
#   container starts it again with its saved state. If clients would refuse the new files, the Sentinel keeps running with the old ones.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"
. "${0%/*}/copies.sh"
. "${0%/*}/sentinels.sh"

# knows_none: whether this Sentinel knows no replica. It has not reached the server that it watches since it began to watch it.
knows_none() { [ "$(echo "SENTINEL MASTER $DEPLOYMENT" | tell localhost 3 26379 | sed -n '/^num-slaves/{n;p;}')" = 0 ]; }

# watch_primary: if this Sentinel watches a replica, makes it watch the primary of that replica. If it watches no server, or a silent one
# without replicas, makes it watch the primary that the other Sentinels or the servers name.
watch_primary() {
  own=$(echo "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | tell localhost 3 26379 | head -n 1)
  if [ -z "$own" ]; then
    primary=$(watched)
    [ -n "$primary" ] || primary=$(leading)
    [ -z "$primary" ] || monitor "$primary" | tell localhost 3 26379 >/dev/null
    return
  fi
  primary='' said=$(role_of "$own")
  case $said in
    # slave HOST PORT STATE OFFSET
    slave*) primary=$(echo "$said" | sed -n 2p) ;;
    '') ! knows_none || primary=$(leading) ;;
  esac
  if [ -n "$primary" ] && role_of "$primary" | grep -q '^master'; then
    lasts 15 "$DATA/replica" "$own" || return 0
    echo "keeper: watches ${primary%.}" >&2
    { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "${primary%.}"; } | tell localhost 3 26379 >/dev/null
  fi
  rm -f "$DATA/replica"
}

# The Sentinel asks servers for their replicas every two seconds instead of every ten, because it can only promote replicas that it knows.
echo 'SENTINEL DEBUG info-period 2000' | tell localhost 3 26379 | grep -q OK || exit 3
watch_primary
[ -n "${VALKEY_TLS_CA-}" ] && [ "$(certificate)" != "$(cat /data/certificate)" ] || exit 0
# With files that the others refuse, a Sentinel could not agree with other Sentinels, and could not reach the servers.
! acceptable || echo SHUTDOWN | tell localhost 3 26379 >/dev/null
