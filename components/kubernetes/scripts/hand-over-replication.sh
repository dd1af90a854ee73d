#!/bin/sh
# hand-over-replication.sh SECONDS: runs before a pod stops, in deployments with Sentinels. If this server is the primary, a replica that
# has every write takes over, and this server stops as its replica. After SECONDS the server stops in any case. The container's
# environment sets DEPLOYMENT, SERVERS and SENTINELS (the part of the host names of servers and Sentinels after the pod's name), and
# COUNT (the number of Sentinels).
#
# Writes are paused while a replica takes over. Then the connections of waiting clients are closed, so that they connect to the new
# primary. The script does more than SENTINEL FAILOVER, because that leaves two primaries for ten seconds. With its option COORDINATED
# (Valkey 9.0) the former primary would refuse writes of clients and proxies that have not noticed the new primary yet.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"

# choices SENTINEL: prints `HOST PORT STATE` of each replica that this Sentinel may promote. STATE is `up`, or `down` while the Sentinel
# does not reach the replica. Fails if the Sentinel does not consider this server the primary, or is in TILT mode, in which it does not act.
choices() {
  printf 'SENTINEL MASTER %s\nSENTINEL REPLICAS %s\nINFO sentinel\n' "$DEPLOYMENT" "$DEPLOYMENT" | tell "$1" 3 26379 |
    awk -v own="$HOSTNAME$SERVERS" '
      /^sentinel_tilt:0/ { acts = 1 }
      NR % 2 { key = $0; next }
      key == "ip" { ip = $0 }
      key == "port" { port = $0 }
      key == "flags" { state = /down|disconnected/ ? "down" : "up" }
      key == "flags" && $0 == "master" && ip == own { watches = 1 }
      key == "slave-priority" && $0 != 0 { list = list ip " " port " " state "\n" }
      END { printf "%s", list; exit !(acts && watches) }'
}

# answering: filters the lines that `choices` prints. A replica that a Sentinel does not reach stays only if it answers this server: the
# Sentinel may reach it at any moment, for example when its pod has just started, and then promote it.
answering() {
  while read -r host port state; do
    {
      role=$state
      [ "$state" = up ] || replication "$host" "$port"
      [ -z "$role" ] || echo "$host $port"
    } &
  done
  wait
}

# replication HOST PORT: sets role, link and offset of that node. offset is the position up to which it has applied writes.
replication() {
  role='' link='' offset=-1
  answer=$(echo 'INFO replication' | tell "$1" 2 "$2")
  while IFS=: read -r name value; do
    value=${value%"$CARRIAGE_RETURN"}
    case $name in
      role) role=$value ;;
      master_link_status) link=$value ;;
      slave_repl_offset) offset=$value ;;
    esac
  done <<ANSWER
$answer
ANSWER
}

# all OFFSET: whether every replica in $candidates is linked and has all writes up to OFFSET. A Sentinel may promote any of them.
all() {
  asked=''
  while read -r host port; do
    { replication "$host" "$port" && [ "$role" = slave ] && [ "$link" = up ] && [ "$offset" -ge "$1" ]; } &
    asked="$asked $!"
  done <<CANDIDATES
$candidates
CANDIDATES
  for one in $asked; do
    wait "$one" || return 1
  done
}

# ready: sets sentinel to the first Sentinel that can promote a replica, and candidates to the replicas that it may promote. A Sentinel
# may also promote a replica that is still copying the data set, so the script waits for such a replica.
ready() {
  number=0
  while [ "$number" -lt "$COUNT" ]; do
    sentinel=$DEPLOYMENT-sentinel-$number$SENTINELS
    number=$((number + 1))
    listed=$(choices "$sentinel") || continue
    case $listed in *' up'*) ;; *) continue ;; esac
    candidates=$(echo "$listed" | answering)
    return
  done
  candidates=''
  return 1
}

# promoted: sets successor to `HOST PORT` of the replica that has become a primary.
promoted() {
  successor=$(
    while read -r host port; do
      { replication "$host" "$port" && [ "$role" = master ] && echo "$host $port"; } &
    done <<CANDIDATES
$candidates
CANDIDATES
    wait
  )
  [ -n "$successor" ]
}

# settled: whether most Sentinels name the new primary, no Sentinel names this server, and this server is linked to the new primary.
settled() {
  number=0 agree=0 stale=0
  while [ "$number" -lt "$COUNT" ]; do
    named=$(echo "SENTINEL GET-MASTER-ADDR-BY-NAME $DEPLOYMENT" | tell "$DEPLOYMENT-sentinel-$number$SENTINELS" 3 26379 | head -n 1)
    case $named in
      '') ;;
      "$HOSTNAME$SERVERS") stale=$((stale + 1)) ;;
      *) agree=$((agree + 1)) ;;
    esac
    number=$((number + 1))
  done
  look
  [ $stale = 0 ] && [ $((agree * 2)) -gt "$COUNT" ] && [ "$link" = up ]
}

# within SECONDS COMMAND…: repeats the command until it succeeds.
within() {
  last=$(($(now) + $1))
  shift
  until "$@"; do
    [ "$(now)" -lt "$last" ] && [ "$(now)" -lt "$end" ] || return 1
    sleep 0.02
  done
}

# hand_over: lets a replica take over. It fails only if it has changed nothing, so that the caller can try again.
hand_over() {
  ready && all 0 || return 1
  paused=$(printf 'CLIENT PAUSE 60000 WRITE\nINFO replication\n' | tell localhost 3 | sed -n "s/^master_repl_offset:\([0-9]*\).*/\1/p")
  if [ -z "$paused" ] || ! within 3 all "$paused"; then
    echo 'CLIENT UNPAUSE' | tell localhost 3 >/dev/null
    return 1
  fi
  # If the Sentinel does not answer, the failover may still have begun.
  case $(echo "SENTINEL FAILOVER $DEPLOYMENT" | tell "$sentinel" 3 26379) in
    OK* | '') ;;
    *)
      echo 'CLIENT UNPAUSE' | tell localhost 3 >/dev/null
      return 1
      ;;
  esac
  # If no replica takes over, writes stay paused: the server stops next, and Sentinels fail over as from a failed primary.
  within 10 promoted || return 0
  # Proxies need this time to notice the new primary (haproxy.cfg).
  sleep 0.2
  # One transaction, so that no client sends a write to a replica and gets an error. After the transaction the server accepts only
  # connections from its own pod, for probes. New connections of clients go to other pods.
  printf '%s\n' MULTI 'CLIENT KILL TYPE normal' 'CLIENT KILL TYPE pubsub' 'CLIENT UNPAUSE' "REPLICAOF $successor" \
    'CONFIG SET bind "127.0.0.1 -::1"' EXEC | tell localhost 3 >/dev/null
  # Waits until the Sentinels agree on the new primary, because this pod asks them when it starts again. Also waits until this server is
  # linked to the new primary, so that the pod can later synchronize partially.
  within 10 settled || true
  # Machines may still send clients to this pod. As long as the pod has its address, it refuses them at once. Without the address, these
  # clients would wait for seconds.
  sleep 1
}

begin_stop
end=$(($(now) + ${1:?seconds}))
# Clients of the Service for reads need this time to connect to other pods, and the keeper needs it to end its turn.
sleep 3
# If there is no Sentinel or no replica for 5 s, all pods are assumed to be stopping.
patience=$(($(now) + 5))
while look; [ "$role" = master ] && [ "$(now)" -lt "$end" ] && ! hand_over; do
  [ -n "$candidates" ] || [ "$(now)" -lt $patience ] || break
  sleep 0.5
done
look
remember
# No replica has taken over. The only copy of the data may be in memory, so the server saves it when it stops.
[ "$role" != master ] || echo 'CONFIG SET shutdown-on-sigterm save' | tell localhost 3 >/dev/null
exit 0
