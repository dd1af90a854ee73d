# shellcheck shell=sh
# Functions that ask the Sentinels of a deployment; sourced after node.sh. The container's environment sets DEPLOYMENT, POD_NAME, SERVERS
# and SENTINELS (what follows a pod's name in its host name), COUNT, QUORUM, DOWN_AFTER and FAILOVER_TIMEOUT.

# certificate: a checksum of the files of TLS.
certificate() { cat "${VALKEY_TLS_CA%/*}/tls.crt" "${VALKEY_TLS_CA%/*}/tls.key" "$VALKEY_TLS_CA" | cksum; }

# sentinels: host names of all Sentinels but this one.
sentinels() {
  number=0
  while [ "$number" -lt "$COUNT" ]; do
    [ "$DEPLOYMENT-sentinel-$number" = "$POD_NAME" ] || echo "$DEPLOYMENT-sentinel-$number$SENTINELS"
    number=$((number + 1))
  done
}

# views: the primary by each Sentinel that answers, a line for each.
views() {
  for sentinel in $(sentinels); do
    echo "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | tell "$sentinel" 3 26379 |
      awk -v servers="$SERVERS" 'index($0, servers) { print; exit }' &
  done
  wait
}

# most: the smallest number of Sentinels that is more than half of all.
most() { echo $((COUNT / 2 + 1)); }

# watched [NUMBER]: the primary by most of the Sentinels that answer; at least NUMBER of them name it.
watched() { views | sort | uniq -c | sort -rn | awk -v least="${1:-1}" 'NR == 1 && $1 >= least { print $2 }'; }

# fail_over WAITED: has one Sentinel promote a replica of this server. Fails where none can. Where a Sentinel names another primary already, the
# others learn of it within 5 s: a second failover would take the role from that one.
fail_over() {
  if [ "$(views | sort -u)" != "$POD_NAME$SERVERS" ]; then
    [ "$1" -lt 5 ]
    return
  fi
  for sentinel in $(sentinels); do
    case $(echo "SENTINEL FAILOVER $DEPLOYMENT" | tell "$sentinel" 3 26379) in
      OK* | *INPROG*) return 0 ;;
    esac
  done
  return 1
}

# monitor HOST: prints the commands by which a Sentinel watches that primary.
monitor() {
  echo "SENTINEL MONITOR $DEPLOYMENT $1 6379 $QUORUM"
  echo "SENTINEL SET $DEPLOYMENT auth-pass $(cat "$VALKEY_PASSWORD_FILE") down-after-milliseconds $DOWN_AFTER failover-timeout $FAILOVER_TIMEOUT parallel-syncs 1"
}

# watch HOST: has all Sentinels watch that primary in place of the one that they name.
watch() {
  for sentinel in $(sentinels); do
    { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "$1"; } | tell "$sentinel" 3 26379 >/dev/null &
  done
  wait
}
