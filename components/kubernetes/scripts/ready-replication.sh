#!/bin/sh
# Readiness of a node in replication mode: its data set is loaded. A replica must also be linked to the primary and keep up with it.
# PRIMARY_SERVICE is the Service of the primary; it is set only in deployments without Sentinels.
# A replica that lost its primary tries to connect each second. But an attempt that gets no answer lasts for repl-timeout (60 s), and there
# is no answer at the old address of a pod that was replaced. This script ends such an attempt, so that the replica looks up the address
# again. With Sentinels the replica looks up the same host name. Without Sentinels it looks up the Service, which keeps its address and
# refuses connections while the primary is not ready. The replica keeps its data set, for a partial synchronization.
. "${0%/*}/node.sh"

# lasts SECONDS FILE: whether SECONDS have passed since the first call with FILE on this machine. FILE keeps that time.
lasts() {
  boot=$(cat /proc/sys/kernel/random/boot_id) noted='' first=''
  [ ! -s "$2" ] || read -r noted first <"$2"
  [ "$noted" = "$boot" ] || { first=$(now) && echo "$boot $first" >"$2"; }
  [ $(($(now) - first)) -ge "$1" ]
}

# reopen: repairs an interrupted hand-over. During a hand-over, `up` lets the former primary listen only to its own pod for a moment. If
# `up` is interrupted in that moment, this function makes the server listen to clients again after 60 s.
reopen() {
  case $(echo 'CONFIG GET bind' | tell localhost 2) in
    *"127.0.0.1 -::1") ! lasts 60 "$DATA/closed" || echo 'CONFIG SET bind "* -::*"' | tell localhost 2 >/dev/null ;;
    *) rm -f "$DATA/closed" ;;
  esac
}

# is_lent: whether a different server is the primary only for a time, and the designated primary must take the role back. There are two
# cases. The designated primary copies newer data from that server (start-replication.sh), or `up` was interrupted before it designated that
# server. In the second case the function waits for 240 s: PRIMARY_FILE in a running pod may be outdated, so a different server may already
# be designated, and clients may use it. The function is false if the primary follows a server of a different deployment (docs/upgrades.md).
is_lent() {
  [ ! -e "$DATA/lent" ] || return 0
  case $followed in
    "$DEPLOYMENT"-*"$SERVERS" | "$PRIMARY_SERVICE") lasts 240 "$DATA/replaced" && ! serves_elsewhere ;;
    *) false ;;
  esac
}

# follows_itself: whether the designated primary started as a replica of the Service, although the Service routes only to this server.
# That happens if its container died after it had taken over, and started again before PRIMARY_FILE named this pod.
follows_itself() {
  [ "$followed" = "$PRIMARY_SERVICE" ] && never_linked && ! serves_elsewhere
}

# never_linked: whether this replica started at least 30 s ago, and has not reached its primary since.
never_linked() { [ "$link" != up ] && [ "$since" -lt 0 ] && [ "$uptime" -ge 30 ] && ! copying; }

# start_again: stops this server, so that its start script asks the other servers again. No data is lost: all data of this server is
# on its disk or on other servers.
start_again() { echo 'SHUTDOWN NOSAVE NOW FORCE' | tell localhost 2 >/dev/null; }

# serves_elsewhere: whether the Service of the primary routes to a primary that is not this server.
serves_elsewhere() {
  found=$(printf 'ROLE\nINFO server\n' | tell "$PRIMARY_SERVICE" 2)
  echo "$found" | grep -q '^master' && ! echo "$found" | grep -q "^run_id:$run"
}

# take_back: the designated primary takes its role back, with every write. Until then the Service of the primary has no ready pod.
take_back() {
  # The other server may still have a failover in progress, to this pod's old address.
  echo 'FAILOVER ABORT' | tell "$followed" 2 >/dev/null
  attempt=0
  while [ "$role" = slave ] && [ $attempt -lt 15 ]; do
    attempt=$((attempt + 1))
    if [ "$link" = up ]; then
      echo "FAILOVER TO $POD_NAME$SERVERS 6379 TIMEOUT 5000" | tell "$followed" 2 >/dev/null
    elif [ "$since" -ge 10 ]; then
      # The other server is gone. No client wrote to it, and this server has all its data.
      echo 'REPLICAOF NO ONE' | tell localhost 2 >/dev/null
    elif never_linked; then
      # The other server has started again, and refuses this replica.
      start_again
    fi
    sleep 0.2
    look
  done
  [ "$role" = master ] || return 1
  rm -f "$DATA/lent" "$DATA/replaced"
  remember
}

# follow_service: makes this server follow the Service of the primary, if the primary serves. It is called for a primary that is not
# designated, and for a replica that follows a pod by its name: FAILOVER made it follow that pod, and a different pod may take over
# next. Only ready pods are behind the Service.
follow_service() {
  # The Service may route to proxies, and these to this server.
  serves_elsewhere || return 0
  echo "REPLICAOF $PRIMARY_SERVICE 6379" | tell localhost 2 >/dev/null
}

# follow_primary: makes a replica of a replica follow the primary that the Sentinels name. Sentinels do not do that for a replica that they
# had not seen before the failover, because they learn of replicas from the primary.
follow_primary() {
  [ "$link" != up ] || echo ROLE | tell "$followed" 2 | grep -q '^slave' || return 0
  primary=$(watched)
  [ -n "$primary" ] && [ "$primary" != "$followed" ] && [ "$primary" != "$POD_NAME$SERVERS" ] || return 0
  echo "REPLICAOF $primary 6379" | tell localhost 2 >/dev/null
}

# outvoted: whether most Sentinels named the same different server as the primary in each of the last three probes. `other` is that server.
# One probe is not enough: for some seconds after they promote this server, Sentinels name the former primary.
outvoted() {
  other=$(watched "$(most)")
  if [ -z "$other" ] || [ "$other" = "$POD_NAME$SERVERS" ]; then
    rm -f "$DATA/outvoted"
    return 1
  fi
  echo "$other" >>"$DATA/outvoted"
  [ "$(tail -n 3 "$DATA/outvoted" | grep -Fxc "$other")" = 3 ]
}

# resign: makes this primary follow the primary that the Sentinels name. Otherwise clients and proxies would find two primaries.
resign() {
  echo ROLE | tell "$other" 2 | grep -q '^master' || return 0
  echo "REPLICAOF $other 6379" | tell localhost 2 >/dev/null
  rm -f "$DATA/outvoted"
}

# copying: whether this node receives a data set.
copying() { echo 'INFO replication' | tell localhost 2 | grep -q '^master_sync_in_progress:1'; }

# keeps_up: whether this linked replica has every write that the primary had MAX_LAG seconds ago. At each probe it notes the primary's
# position together with the replication ID, because positions of different replication IDs cannot be compared. A time that
# is later than now was noted before the machine started again, and is forgotten.
keeps_up() {
  [ -n "${MAX_LAG-}" ] || return 0
  reached=$(echo 'INFO replication' | tell "$followed" 2 | sed -n 's/^master_repl_offset:\([0-9]*\).*/\1/p')
  { cat "$DATA/reached" 2>/dev/null; [ -z "$reached" ] || echo "$(now) $lineage $reached"; } |
    awk -v now="$(now)" -v due="$(($(now) - MAX_LAG))" -v lineage="$lineage" '
      $1 > now { next }
      $2 != lineage { next }
      $1 <= due { last = $0; next }
      { later = later $0 "\n" }
      END { if (last != "") print last; printf "%s", later }' >"$DATA/reached.new"
  mv "$DATA/reached.new" "$DATA/reached"
  # If the primary does not answer, it may be far ahead, so the replica counts as late.
  awk -v due="$(($(now) - MAX_LAG))" -v applied="$applied" '
    $1 <= due && $3 > applied { late = 1 }
    { newest = $1 }
    END { exit late || newest <= due }' "$DATA/reached"
}

look
came_up
reload_certificate
[ "$loading" = 0 ] || exit 1
remember
[ -z "${DEPLOYMENT-}" ] || reopen
if [ -n "${PRIMARY_SERVICE-}" ] && [ -n "${DEPLOYMENT-}" ]; then
  if [ "$POD_NAME" != "$(designated)" ]; then
    rm -f "$DATA/replaced"
    case $role,$followed in master,* | slave,"$DEPLOYMENT"-*"$SERVERS") follow_service ;; esac
  elif [ "$role" = master ]; then
    rm -f "$DATA/lent" "$DATA/replaced"
  elif is_lent; then
    take_back
    exit
  elif follows_itself; then
    start_again
    exit 1
  fi
fi
if [ -n "${SENTINELS-}" ]; then
  . "${0%/*}/sentinels.sh"
  if [ "$role" = slave ]; then
    rm -f "$DATA/outvoted"
    follow_primary
  elif outvoted; then
    resign
  fi
fi
[ "$role" != master ] || exit 0
if [ "$link" = up ]; then
  keeps_up
  exit
fi

# Ends an attempt to connect once a second, until the replica is linked or the time is up. A probe may take 8 s.
attempt=0
while [ $attempt -lt 16 ]; do
  attempt=$((attempt + 1))
  # slave HOST PORT STATE OFFSET
  # shellcheck disable=SC2046
  set -- $(echo ROLE | tell localhost 2)
  case ${4-} in
    connected) exit 0 ;;
    connecting)
      [ $((attempt % 4)) = 1 ] || { sleep 0.25 && continue; }
      # REPLICAOF does nothing if the replica already follows this host name. The same name with a final dot counts as a different one.
      host=${PRIMARY_SERVICE:-${2%.}}
      [ "$2" != "$host" ] || host=$host.
      echo "REPLICAOF $host 6379" | tell localhost 2 >/dev/null
      ;;
  esac
  sleep 0.25
done
exit 1
