#!/bin/sh
# sentinel.sh: starts a Sentinel. Without a memory it watches the primary that the other Sentinels name; else the one that the servers
# name; else, in a new deployment, pod 0. The container's environment sets what sentinels.sh reads; the file `servers` in
# /valkey/config has the number of servers.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"
. "${0%/*}/sentinels.sh"

# leading: the host of the server that is a primary, of two the one with more replicas; else of the one that most replicas follow.
leading() {
  number=0 count=$(cat /valkey/config/servers)
  while [ "$number" -lt "$count" ]; do
    host=$DEPLOYMENT-$number$SERVERS
    number=$((number + 1))
    {
      ask "$host"
      case $role in
        master) has_data && echo "1 $replicas $host" ;;
        slave) echo "0 1 $followed" ;;
      esac
    } &
  done | awk -v servers="$SERVERS" '
    index($3, servers) { weight[$3] += 1000 * $1 + $2 }
    END { for (host in weight) if (weight[host] > most) { most = weight[host]; best = host } print best }'
}

trap 'exit 143' TERM
[ -z "${VALKEY_TLS_CA-}" ] || certificate >/data/certificate
# A container that restarts in its pod keeps its state.
if [ ! -e /data/sentinel.conf ]; then
  primary=$(watched)
  [ -n "$primary" ] || primary=$(leading)
  password=$(cat "$VALKEY_PASSWORD_FILE")
  {
    if [ -n "${VALKEY_TLS_CA-}" ]; then
      echo 'port 0'
      echo 'tls-port 26379'
      echo "tls-cert-file ${VALKEY_TLS_CA%/*}/tls.crt"
      echo "tls-key-file ${VALKEY_TLS_CA%/*}/tls.key"
      echo "tls-ca-cert-file $VALKEY_TLS_CA"
      # Clients authenticate by password.
      echo 'tls-auth-clients optional'
      # To the servers and to other Sentinels.
      echo 'tls-replication yes'
    else
      echo 'port 26379'
    fi
    cat <<CONF
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
  } >/data/new.conf
  mv /data/new.conf /data/sentinel.conf
fi
exec valkey-server /data/sentinel.conf --sentinel
