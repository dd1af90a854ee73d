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

# ask_sentinels COMMAND: the answers of all Sentinels, in any order.
ask_sentinels() {
  for sentinel in $(sentinels); do
    echo "$1" | tell "$sentinel" 3 26379 &
  done
  wait
}

# views: the primary by each Sentinel that answers, a line for each.
views() { ask_sentinels "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | awk -v servers="$SERVERS" 'index($0, servers)'; }

# failing_over: whether a Sentinel is about to promote a replica.
failing_over() { ask_sentinels "SENTINEL MASTER $DEPLOYMENT" | grep -q failover_in_progress; }

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

# begin_anew: has all Sentinels connect to the primary that they name again, and end a failover that has begun. They know replicas again once
# the primary says which ones it has.
begin_anew() { ask_sentinels "SENTINEL RESET $DEPLOYMENT" >/dev/null; }

# monitor HOST: prints the commands by which a Sentinel watches that primary.
monitor() {
  echo "SENTINEL MONITOR $DEPLOYMENT $1 6379 $QUORUM"
  echo "SENTINEL SET $DEPLOYMENT auth-pass $(cat "$VALKEY_PASSWORD_FILE") down-after-milliseconds $DOWN_AFTER failover-timeout $FAILOVER_TIMEOUT parallel-syncs 1"
}

# watch HOST: has all Sentinels watch that primary in place of the one that they name. A Sentinel that does not answer is told again for
# some seconds: it remembers an earlier failover, and the others, which then remember none, would believe it.
watch() {
  for sentinel in $(sentinels); do
    watch_by "$sentinel" "$1" &
  done
  wait
}

# watch_by SENTINEL HOST
watch_by() {
  tries=0
  until { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "$2"; } | tell "$1" 3 26379 | tail -n 1 | grep -q '^OK'; do
    tries=$((tries + 1))
    [ $tries -lt 5 ] || return 0
    sleep 1
  done
}

# role_of HOST: its answer to ROLE.
role_of() { echo ROLE | tell "$1" 2; }

# leading: the host of the server that is a primary, of two the one with more replicas; else of the one that most replicas follow.
# It needs copies.sh.
leading() {
  number=0 count=$(cat /valkey/config/servers)
  while [ "$number" -lt "$count" ]; do
    host=$DEPLOYMENT-$number$SERVERS
    number=$((number + 1))
    {
      ask "$host"
      # Pods without Sentinels follow the Service of the primary.
      case $followed in "$DEPLOYMENT".*) followed=$(designated)$SERVERS ;; esac
      case $role in
        master) has_data && echo "1 $replicas $host" ;;
        slave) echo "0 1 $followed" ;;
      esac
    } &
  done | awk -v servers="$SERVERS" '
    index($3, servers) { weight[$3] += 1000 * $1 + $2 }
    END { for (host in weight) if (weight[host] > most) { most = weight[host]; best = host } print best }'
}
