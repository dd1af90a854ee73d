#!/bin/sh
# Readiness of a node in replication: its data set is loaded and, of a replica, its link to the primary is up, and it keeps up.
# PRIMARY_SERVICE, where it is set, is the Service of the primary without Sentinels. A replica without its primary tries
# each second, but an attempt that nobody answers lasts for repl-timeout (60 s), and where a pod is new nobody answers at its old address.
# The script makes such a replica begin anew: with Sentinels at the same host name, else at the Service, which keeps its address and
# refuses connections while the primary is not ready. The data set stays, for a partial synchronization.
. "${0%/*}/node.sh"

# lasts SECONDS FILE: whether so many seconds have passed since it was first called with FILE.
lasts() {
  [ -s "$2" ] || date +%s >"$2"
  first=$(cat "$2")
  [ $(($(date +%s) - ${first:-$(date +%s)})) -ge "$1" ]
}

# reopen: `up` has a primary listen to its own pod only, for the moment in which another takes over. Where `up` ended in that moment, the
# server listens to clients again.
reopen() {
  case $(echo 'CONFIG GET bind' | tell localhost 2) in
    *"127.0.0.1 -::1") ! lasts 60 "$DATA/closed" || echo 'CONFIG SET bind "* -::*"' | tell localhost 2 >/dev/null ;;
    *) rm -f "$DATA/closed" ;;
  esac
}

# is_lent: whether the designated primary is a replica for a time: it copies newer data (start-replication.sh), or `up` ended before it
# designated the one that took over. Until the file of a running pod is current, another may be designated, to which clients are led. A
# person may have it follow a server of another deployment (docs/upgrades.md).
is_lent() {
  [ ! -e "$DATA/lent" ] || return 0
  case $followed in
    "$DEPLOYMENT"-*"$SERVERS" | "$PRIMARY_SERVICE") lasts 240 "$DATA/replaced" && ! serves_elsewhere ;;
    *) false ;;
  esac
}

# follows_itself: whether the designated primary follows the Service, and the Service leads to this pod only. That happens if the container dies
# after the server has taken over, and before PRIMARY_FILE names the pod: the server then starts as a replica of the Service.
follows_itself() {
  [ "$followed" = "$PRIMARY_SERVICE" ] && never_linked && ! serves_elsewhere
}

# never_linked: whether this replica started at least 30 s ago, and has not reached its primary since.
never_linked() { [ "$link" != up ] && [ "$since" -lt 0 ] && [ "$uptime" -ge 30 ] && ! copying; }

# start_again: ends this server, so that the start script asks the other servers again. No data is lost: a replica that has not reached its
# primary has only what is on its disk.
start_again() { echo 'SHUTDOWN NOSAVE NOW FORCE' | tell localhost 2 >/dev/null; }

# serves_elsewhere: whether clients of the Service of the primary find one that is not this server.
serves_elsewhere() {
  found=$(printf 'ROLE\nINFO server\n' | tell "$PRIMARY_SERVICE" 2)
  echo "$found" | grep -q '^master' && ! echo "$found" | grep -q "^run_id:$run"
}

# take_back: the designated primary has the role again, with every write. Until then clients find nobody at its Service.
take_back() {
  # Since the last probe the other may be waiting for an answer from this pod's old address.
  echo 'FAILOVER ABORT' | tell "$followed" 2 >/dev/null
  attempt=0
  while [ "$role" = slave ] && [ $attempt -lt 15 ]; do
    attempt=$((attempt + 1))
    if [ "$link" = up ]; then
      echo "FAILOVER TO $POD_NAME$SERVERS 6379 TIMEOUT 5000" | tell "$followed" 2 >/dev/null
    elif [ "$since" -ge 10 ]; then
      # The other is gone. Nobody wrote there, and all that it had is here.
      echo 'REPLICAOF NO ONE' | tell localhost 2 >/dev/null
    elif never_linked; then
      # The other server has restarted, and refuses this replica.
      start_again
    fi
    sleep 0.2
    look
  done
  [ "$role" = master ] || return 1
  rm -f "$DATA/lent" "$DATA/replaced"
  remember
}

# follow_service: a primary that is not designated follows the one that is, where that serves. So does a replica that follows a pod: FAILOVER has
# made it one, and another may take over next. Only pods that are ready are behind the Service.
follow_service() {
  # Through proxies it may be this one.
  serves_elsewhere || return 0
  echo "REPLICAOF $PRIMARY_SERVICE 6379" | tell localhost 2 >/dev/null
}

# follow_primary: a replica of a replica follows the primary that Sentinels name. Sentinels learn of replicas from the primary: one that they
# had not seen yet when they failed over, they never do.
follow_primary() {
  [ "$link" != up ] || echo ROLE | tell "$followed" 2 | grep -q '^slave' || return 0
  primary=$(watched)
  [ -n "$primary" ] && [ "$primary" != "$followed" ] && [ "$primary" != "$POD_NAME$SERVERS" ] || return 0
  echo "REPLICAOF $primary 6379" | tell localhost 2 >/dev/null
}

# outvoted: sets other to the primary that most Sentinels have named in the last three probes in place of this one. They do so for some
# seconds when they promote this one.
outvoted() {
  other=$(watched "$(most)")
  if [ -z "$other" ] || [ "$other" = "$POD_NAME$SERVERS" ]; then
    rm -f "$DATA/outvoted"
    return 1
  fi
  echo "$other" >>"$DATA/outvoted"
  [ "$(tail -n 3 "$DATA/outvoted" | grep -Fxc "$other")" = 3 ]
}

# resign: a primary that Sentinels do not know follows theirs. Clients and proxies would find two.
resign() {
  echo ROLE | tell "$other" 2 | grep -q '^master' || return 0
  echo "REPLICAOF $other 6379" | tell localhost 2 >/dev/null
  rm -f "$DATA/outvoted"
}

# remember: writes down the history of this node's data set, for the next start: a snapshot may be of an earlier one.
remember() { [ "$lineage" = "$(cat "$HISTORY" 2>/dev/null)" ] || echo "$lineage" >"$HISTORY"; }

# copying: whether this node receives a data set.
copying() { echo 'INFO replication' | tell localhost 2 | grep -q '^master_sync_in_progress:1'; }

# keeps_up: whether this linked replica has every write that the primary had MAX_LAG seconds ago. It notes at each probe how far the primary is,
# by history: positions of different ones cannot be compared.
keeps_up() {
  [ -n "${MAX_LAG-}" ] || return 0
  reached=$(echo 'INFO replication' | tell "$followed" 2 | sed -n 's/^master_repl_offset:\([0-9]*\).*/\1/p')
  { cat "$DATA/reached" 2>/dev/null; [ -z "$reached" ] || echo "$(date +%s) $lineage $reached"; } |
    awk -v due="$(($(date +%s) - MAX_LAG))" -v lineage="$lineage" '
      $2 != lineage { next }
      $1 <= due { last = $0; next }
      { later = later $0 "\n" }
      END { if (last != "") print last; printf "%s", later }' >"$DATA/reached.new"
  mv "$DATA/reached.new" "$DATA/reached"
  # A primary that does not answer may be far ahead.
  awk -v due="$(($(date +%s) - MAX_LAG))" -v applied="$applied" '
    $1 <= due && $3 > applied { late = 1 }
    { newest = $1 }
    END { exit late || newest <= due }' "$DATA/reached"
}

look
reload_certificate
[ "$loading" = 0 ] || exit 1
{ [ "$role" = slave ] && [ "$link" != up ]; } || remember
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

# Until the next probe. A probe may take 8 s.
attempt=0
while [ $attempt -lt 4 ]; do
  attempt=$((attempt + 1))
  # slave HOST PORT STATE OFFSET
  # shellcheck disable=SC2046
  set -- $(echo ROLE | tell localhost 2)
  case ${4-} in
    connected) exit 0 ;;
    connecting)
      # REPLICAOF does nothing for the host that the replica has already; a final dot is another spelling of it.
      host=${PRIMARY_SERVICE:-${2%.}}
      [ "$2" != "$host" ] || host=$host.
      echo "REPLICAOF $host 6379" | tell localhost 2 >/dev/null
      ;;
  esac
  sleep 1
done
exit 1
