#!/bin/sh
# Starts a Sentinel, or writes the primary into a server's configuration. The container's environment sets
# DEPLOYMENT, POD_NAME, SERVERS and SENTINELS (what follows a pod's name in its host name), COUNT, QUORUM, DOWN_AFTER, FAILOVER_TIMEOUT.
set -eu
password=$(cat "$VALKEY_PASSWORD_FILE")

# ask HOST: the primary's host by that Sentinel; nothing without an answer.
ask() {
  { printf '%s\n' "$password" && printf 'SENTINEL GET-MASTER-ADDR-BY-NAME %s\n' "$DEPLOYMENT"; } |
    timeout 3 valkey-cli -h "$1" -p 26379 -t 2 --askpass --no-auth-warning --raw 2>/dev/null | awk -v servers="$SERVERS" 'index($0, servers) { print; exit }'
}

# watched: the primary by most of the Sentinels that answer.
watched() {
  number=0
  while [ "$number" -lt "$COUNT" ]; do
    peer=$DEPLOYMENT-sentinel-$number
    [ "$peer" = "$POD_NAME" ] || ask "$peer$SENTINELS" || true
    number=$((number + 1))
  done | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }'
}

case $1 in
  watch)
    # A container that restarts in its pod keeps its state.
    if [ ! -e /data/sentinel.conf ]; then
      primary=$(watched)
      cat >/data/new.conf <<CONF
port 26379
bind * -::*
protected-mode no
dir /data
requirepass $password
sentinel sentinel-pass $password
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $POD_NAME$SENTINELS
sentinel announce-port 26379
sentinel monitor $DEPLOYMENT ${primary:-$DEPLOYMENT-0$SERVERS} 6379 $QUORUM
sentinel auth-pass $DEPLOYMENT $password
sentinel down-after-milliseconds $DEPLOYMENT $DOWN_AFTER
sentinel failover-timeout $DEPLOYMENT $FAILOVER_TIMEOUT
sentinel parallel-syncs $DEPLOYMENT 1
CONF
      mv /data/new.conf /data/sentinel.conf
    fi
    exec valkey-server /data/sentinel.conf --sentinel
    ;;
  find-primary)
    # Without an answer the server waits: another pod may be the primary by now.
    until primary=$(watched) && [ -n "$primary" ]; do
      echo "waiting for a Sentinel to name the primary of $DEPLOYMENT" >&2
      sleep 1
    done
    own=$POD_NAME$SERVERS
    others=$(awk '!/^(replicaof|replica-announce-ip|masterauth|masteruser) /' "$CONFIG")
    # A later line counts: Sentinels make servers write lines anew where they are, and the included file knows the password.
    { echo "replica-announce-ip $own" && echo "masteruser default" && echo "masterauth $password" && echo "$others"; } >"$CONFIG"
    [ "$primary" = "$own" ] || echo "replicaof $primary 6379" >>"$CONFIG"
    ;;
esac
