#!/bin/sh
# keep-replication.sh: one turn of the keeper of a server in replication mode (keep.sh). It decides nothing: it carries out what `up` has designated
# (PRIMARY_FILE), where the Service of the primary leads, or what most Sentinels name. PRIMARY_SERVICE is that Service; it is set only
# in deployments without Sentinels.
#   The server follows the primary that is named, also if it was a primary itself.
#   The designated primary takes its role back when it has copied newer data from the server to which it has lent the role.
#   A server that an interrupted hand-over has closed to clients is opened again.
#   A replica that lost its primary connects again.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"

# reopen: repairs an interrupted hand-over. During a hand-over, `up` lets the former primary listen only to its own pod for a moment. If
# `up` is interrupted in that moment, this function makes the server listen to clients again after 60 s.
reopen() {
  case $(echo 'CONFIG GET bind' | tell localhost 2) in
    *"127.0.0.1 -::1") ! lasts 60 "$DATA/closed" || act localhost 'CONFIG SET bind "* -::*"' 'listens to clients again' >/dev/null ;;
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
never_linked() { [ "$link" != up ] && [ "$since" -lt 0 ] && [ "$uptime" -ge 30 ] && [ "$syncing" = 0 ]; }

# start_again: stops this server, so that its start script asks the other servers again. No data is lost: all data of this server is
# on its disk or on other servers.
start_again() { act localhost 'SHUTDOWN NOSAVE NOW FORCE' 'starts again, because this server does not reach the primary' >/dev/null; }

# serves_elsewhere: whether the Service of the primary routes to a primary that is not this server. Only ready pods are behind it. It may
# route to proxies, and these to this server.
serves_elsewhere() {
  found=$(printf 'ROLE\nINFO server\n' | tell "$PRIMARY_SERVICE" 2)
  echo "$found" | grep -q '^master' && ! echo "$found" | grep -q "^run_id:$run"
}

# follow HOST WHY: makes this server a replica of that one. It keeps its data set, for a partial synchronization. It does nothing if the
# role has moved since look: a server that has just taken over must not follow anyone.
follow() {
  case $(echo ROLE | tell localhost 2) in "$role"*) act localhost "REPLICAOF $1 6379" "follows $1, $2" >/dev/null ;; esac
}

# is_led: call serves_elsewhere first. Whether this replica is linked to the very primary to which the Service leads, by a pod's name. That
# primary may be handing its role over to this server.
is_led() {
  [ "$link" = up ] && [ "$(echo 'INFO server' | tell "$followed" 2 | grep '^run_id')" = "$(echo "$found" | grep '^run_id')" ]
}

# take_back: the designated primary takes its role back, with every write. Until then it is not ready.
take_back() {
  # The other server may still have a failover in progress, to this pod's old address.
  act "$followed" 'FAILOVER ABORT' >/dev/null
  attempt=0
  while [ "$role" = slave ] && [ $attempt -lt 15 ]; do
    attempt=$((attempt + 1))
    if [ "$link" = up ]; then
      act "$followed" "FAILOVER TO $POD_NAME$SERVERS 6379 TIMEOUT 5000" >/dev/null
    elif [ "$since" -ge 10 ]; then
      # The other server is gone. No client wrote to it, and this server has all its data.
      act localhost 'REPLICAOF NO ONE' "takes the role back, because $followed is gone" >/dev/null
    elif never_linked; then
      # The other server has started again, and refuses this replica.
      start_again
    fi
    sleep 0.2
    look
  done
  [ "$role" = master ] || return 1
  echo 'keeper: this server has its role back' >&2
  rm -f "$DATA/lent" "$DATA/replaced"
  remember
}

# follow_sentinels: makes this server follow the primary that Sentinels name.
#   A replica of a replica does so at once. Sentinels do not do that for a replica that they had not seen before the failover, because they
#   learn of replicas from the primary.
#   A replica of a server that follows this one starts again: its start script finds out which of the two has more data.
#   A primary does so when most Sentinels have named the same different server for 10 s: for some seconds after they promote this server, Sentinels
#   name the former primary. Otherwise clients and proxies would find two primaries.
follow_sentinels() {
  if [ "$role" = slave ]; then
    rm -f "$DATA/outvoted"
    [ "$link" != up ] || role_of "$followed" | grep -q '^slave' || return 0
    primary=$(watched)
    case $primary in
      '' | "$POD_NAME$SERVERS") return ;;
      "$followed")
        ! never_linked || ! follows_me "$followed" || start_again
        return
        ;;
    esac
  else
    primary=$(watched "$(most)")
    if [ -z "$primary" ] || [ "$primary" = "$POD_NAME$SERVERS" ]; then
      rm -f "$DATA/outvoted"
      return
    fi
    lasts 10 "$DATA/outvoted" "$primary" && role_of "$primary" | grep -q '^master' || return 0
  fi
  follow "$primary" 'which Sentinels name'
}

# connect_again: an attempt to connect that gets no answer lasts for repl-timeout (60 s), and there is no answer at the old address of a pod
# that was replaced. The function ends such an attempt once a second, so that the replica looks up the address again. With Sentinels
# the replica looks up the same host name. Without Sentinels it looks up the Service, which keeps its address and refuses connections while the
# primary is not ready.
connect_again() {
  for _ in 1 2 3 4; do
    # slave HOST PORT STATE OFFSET
    # shellcheck disable=SC2046
    set -- $(echo ROLE | tell localhost 2)
    case ${4-} in
      connected | '') return ;;
      connecting)
        # REPLICAOF does nothing if the replica already follows this host name. The same name with a final dot counts as a different one.
        host=${PRIMARY_SERVICE:-${2%.}}
        [ "$2" != "$host" ] || host=$host.
        act localhost "REPLICAOF $host 6379" >/dev/null
        ;;
    esac
    sleep 1
  done
}

look
reload_certificate
[ "$loading" = 0 ] || exit 3
remember
came_up
! stopping || exit 0
guard
[ -z "${DEPLOYMENT-}" ] || reopen
if [ -n "${PRIMARY_SERVICE-}" ] && [ -n "${DEPLOYMENT-}" ]; then
  if [ "$POD_NAME" != "$(designated)" ]; then
    rm -f "$DATA/lent" "$DATA/replaced"
    # FAILOVER made it follow a pod by its name, and a different pod may have taken over since.
    case $role,$followed in master,* | slave,"$DEPLOYMENT"-*"$SERVERS") ! serves_elsewhere || is_led || follow "$PRIMARY_SERVICE" 'the Service of the primary' ;; esac
  elif [ "$role" = master ]; then
    rm -f "$DATA/lent" "$DATA/replaced"
  elif is_lent; then
    take_back || exit 3
    exit $status
  elif follows_itself; then
    start_again
  fi
fi
if [ -n "${SENTINELS-}" ]; then
  . "${0%/*}/sentinels.sh"
  follow_sentinels
fi
[ "$role" = slave ] && [ "$link" != up ] || exit $status
connect_again
exit 3
