#!/bin/sh
# Readiness of a node in replication: its data set is loaded and, of a replica, its link to the primary is up.
# PRIMARY_SERVICE, where it is set, is the Service of pod 0, which is the primary without Sentinels. A replica without its primary tries
# each second, but an attempt that nobody answers lasts for repl-timeout (60 s), and where a pod is new nobody answers at its old address.
# The script makes such a replica begin anew: with Sentinels at the same host name, else at the Service, which keeps its address and
# refuses connections while pod 0 is not ready. The data set stays, for a partial synchronization.
. "${0%/*}/node.sh"

# take_back: pod 0 that has copied newer data (start-replication.sh) is the primary again, with every write. Until then clients find nobody
# at its Service.
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
    elif [ "$since" -lt 0 ] && [ "$uptime" -ge 30 ] && ! copying; then
      # The other started anew, and refuses: the start script asks again.
      echo 'SHUTDOWN NOSAVE NOW FORCE' | tell localhost 2 >/dev/null
    fi
    sleep 0.2
    look
  done
  [ "$role" = master ] || return 1
  remember
}

# step_back: a former helper of pod 0 follows it again where pod 0 serves. Only pods that are ready are behind the Service.
step_back() {
  found=$(printf 'ROLE\nINFO server\n' | tell "$PRIMARY_SERVICE" 2)
  echo "$found" | grep -q '^master' || return 0
  # Through proxies it may be this one.
  ! echo "$found" | grep -q "^run_id:$run" || return 0
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

look
reload_certificate
[ "$loading" = 0 ] || exit 1
{ [ "$role" = slave ] && [ "$link" != up ]; } || remember
if [ -n "${PRIMARY_SERVICE-}" ] && [ -n "${DEPLOYMENT-}" ]; then
  case $POD_NAME,$role in
    "$DEPLOYMENT-0,slave")
      take_back
      exit
      ;;
    "$DEPLOYMENT-0,"*) ;;
    *,master) step_back ;;
  esac
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
[ "$role" != master ] && [ "$link" != up ] || exit 0

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
