# shellcheck shell=sh
# Functions that ask the Sentinels of a deployment; sourced after node.sh. The container's environment sets DEPLOYMENT, POD_NAME, SERVERS
# and SENTINELS (the part of the host names of servers and Sentinels after the pod's name), COUNT (the number of Sentinels), QUORUM,
# DOWN_AFTER and FAILOVER_TIMEOUT.

# certificate: prints a checksum of the TLS files.
certificate() { cat "${VALKEY_TLS_CA%/*}/tls.crt" "${VALKEY_TLS_CA%/*}/tls.key" "$VALKEY_TLS_CA" | cksum; }

# sentinels: prints the host names of all Sentinels except this one.
sentinels() {
  number=0
  while [ "$number" -lt "$COUNT" ]; do
    [ "$DEPLOYMENT-sentinel-$number" = "$POD_NAME" ] || echo "$DEPLOYMENT-sentinel-$number$SENTINELS"
    number=$((number + 1))
  done
}

# ask_sentinels COMMAND: prints the answers of all Sentinels, in any order.
ask_sentinels() {
  for sentinel in $(sentinels); do
    echo "$1" | tell "$sentinel" 3 26379 &
  done
  wait
}

# views: prints the primary that each Sentinel names, one line for each Sentinel that answers.
views() { ask_sentinels "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | awk -v servers="$SERVERS" 'index($0, servers)'; }

# failing_over: whether a Sentinel is about to promote a replica.
failing_over() { ask_sentinels "SENTINEL MASTER $DEPLOYMENT" | grep -q failover_in_progress; }

# most: prints the smallest number of Sentinels that is more than half of all.
most() { echo $((COUNT / 2 + 1)); }

# watched [NUMBER]: prints the primary that most of the answering Sentinels name, if at least NUMBER of them name it.
watched() { views | sort | uniq -c | sort -rn | awk -v least="${1:-1}" 'NR == 1 && $1 >= least { print $2 }'; }

# fail_over WAITED: lets one Sentinel promote a replica of this server. Fails if no Sentinel can. If a Sentinel already names a different
# primary, no failover is started, because it would take the role from that primary. The other Sentinels learn of that primary within 5 s.
# So in this case the function succeeds while WAITED is less than 5 s, and fails later.
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

# begin_anew: makes all Sentinels connect again to the primary that they name, and ends a failover that has begun. They forget the replicas
# until the primary tells them which replicas it has.
begin_anew() { ask_sentinels "SENTINEL RESET $DEPLOYMENT" >/dev/null; }

# monitor HOST: prints the commands that make a Sentinel watch that primary.
monitor() {
  echo "SENTINEL MONITOR $DEPLOYMENT $1 6379 $QUORUM"
  echo "SENTINEL SET $DEPLOYMENT auth-pass $(cat "$VALKEY_PASSWORD_FILE") down-after-milliseconds $DOWN_AFTER failover-timeout $FAILOVER_TIMEOUT parallel-syncs 1"
}

# watch HOST: makes all Sentinels watch that primary instead of the one that they name. If a Sentinel does not answer, the function tries
# again for some seconds. This Sentinel must not be left out: it remembers an earlier failover, while the command makes the other Sentinels
# forget all failovers, so they would believe it.
watch() {
  for sentinel in $(sentinels); do
    for _ in 1 2 3 4 5; do
      ! { echo "SENTINEL REMOVE $DEPLOYMENT" && monitor "$1"; } | tell "$sentinel" 3 26379 | tail -n 1 | grep -q '^OK' || break
      sleep 1
    done &
  done
  wait
}

# role_of HOST: prints a server's answer to ROLE.
role_of() { echo ROLE | tell "$1" 2; }

# follows_me HOST: whether that server follows this one. Sentinels that have forgotten everything may name such a replica. Nobody would ever
# be the primary if this server followed it. One that does not answer is asked three times: it may only be busy.
follows_me() {
  for _ in 1 2 3; do
    said=$(role_of "$1")
    [ -z "$said" ] || break
    sleep 1
  done
  [ "$(echo "$said" | sed -n '2s/\.*$//p')" = "$POD_NAME$SERVERS" ]
}

# leading: prints the host of the server that is a primary. If there are two, it is the one with more replicas; if there is none, it is
# the host that most replicas follow. It needs copies.sh.
leading() {
  number=0 count=$(cat /valkey/config/servers)
  while [ "$number" -lt "$count" ]; do
    host=$DEPLOYMENT-$number$SERVERS
    number=$((number + 1))
    {
      ask "$host"
      # Replicas that started without Sentinels follow the Service of the primary.
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
