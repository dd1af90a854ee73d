#!/bin/sh
# hand-over-replication.sh SECONDS, before a pod stops: a primary that Sentinels watch stops as a replica of another, which has every
# write. After SECONDS the server stops in any case. The container's environment sets DEPLOYMENT, SERVERS and SENTINELS (what
# follows a pod's name in its host name) and COUNT, of Sentinels.
#
# Writes wait while a replica takes over, and waiting clients are cut off once it has, so that they connect to it. SENTINEL
# FAILOVER alone leaves two primaries for ten seconds; with COORDINATED (9.0) the former one refuses the writes of clients, and of
# proxies, that have not noticed yet.
. "${0%/*}/node.sh"

now() { date +%s; }

# choices SENTINEL: `HOST PORT` of each replica that it may promote. Fails unless it takes this server for the primary and acts at all.
choices() {
  printf 'SENTINEL MASTER %s\nSENTINEL REPLICAS %s\nINFO sentinel\n' "$DEPLOYMENT" "$DEPLOYMENT" | tell "$1" 3 26379 |
    awk -v own="$HOSTNAME$SERVERS" '
      /^sentinel_tilt:0/ { acts = 1 }
      NR % 2 { key = $0; next }
      key == "ip" { ip = $0 }
      key == "port" { port = $0 }
      key == "flags" { flags = $0 }
      key == "flags" && flags == "master" && ip == own { watches = 1 }
      key == "slave-priority" && $0 != 0 && flags !~ /down|disconnected/ { list = list ip " " port "\n" }
      END { printf "%s", list; exit !(acts && watches) }'
}

# replication HOST PORT: sets role, link and offset, of what that node has applied.
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

# all OFFSET: whether every replica in $candidates is linked and has everything up to there. A Sentinel may promote any of them.
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

# ready: sets sentinel and candidates. A replica that copies the data set may be promoted too, so it is waited for.
ready() {
  number=0
  while [ "$number" -lt "$COUNT" ]; do
    sentinel=$DEPLOYMENT-sentinel-$number$SENTINELS
    number=$((number + 1))
    candidates=$(choices "$sentinel") && [ -n "$candidates" ] && return
  done
  candidates=''
  return 1
}

# promoted: sets successor to `HOST PORT` of the replica that is a primary now.
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

# settled: whether most Sentinels name another primary and none names this server, which follows the other one.
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

# hand_over: fails when nothing has changed.
hand_over() {
  ready && all 0 || return 1
  paused=$(printf 'CLIENT PAUSE 60000 WRITE\nINFO replication\n' | tell localhost 3 | sed -n "s/^master_repl_offset:\([0-9]*\).*/\1/p")
  if [ -z "$paused" ] || ! within 3 all "$paused"; then
    echo 'CLIENT UNPAUSE' | tell localhost 3 >/dev/null
    return 1
  fi
  # Without an answer it may have begun all the same.
  case $(echo "SENTINEL FAILOVER $DEPLOYMENT" | tell "$sentinel" 3 26379) in
    OK* | '') ;;
    *)
      echo 'CLIENT UNPAUSE' | tell localhost 3 >/dev/null
      return 1
      ;;
  esac
  # Writes stay paused where nobody takes over: the server stops next, and Sentinels fail over as from one that is gone.
  within 10 promoted || return 0
  # For proxies to see the new primary (haproxy.cfg).
  sleep 0.2
  # At once, so that no client is refused for being at a replica. New connections go elsewhere; probes come from here.
  printf '%s\n' MULTI 'CLIENT KILL TYPE normal' 'CLIENT KILL TYPE pubsub' 'CLIENT UNPAUSE' "REPLICAOF $successor" \
    'CONFIG SET bind "127.0.0.1 -::1"' EXEC | tell localhost 3 >/dev/null
  # Before the pod asks the Sentinels for the primary again, and for a partial synchronization.
  within 10 settled || true
  # Clients that were led here a moment ago are refused at once. When the pod's address is gone, they wait for seconds.
  sleep 1
}

end=$(($(now) + ${1:?seconds}))
# For clients of the Service for reads to connect elsewhere.
sleep 3
# Without a Sentinel or a replica after 5 s all pods are stopping.
patience=$(($(now) + 5))
while look; [ "$role" = master ] && [ "$(now)" -lt "$end" ] && ! hand_over; do
  [ -n "$candidates" ] || [ "$(now)" -lt $patience ] || break
  sleep 0.5
done
look
# Nobody has taken over, so the only copy may be in memory.
[ "$role" != master ] || echo 'CONFIG SET shutdown-on-sigterm save' | tell localhost 3 >/dev/null
exit 0
