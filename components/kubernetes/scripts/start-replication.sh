#!/bin/sh
# start-replication.sh SECONDS PATIENCE PROGRAM CONFIG ARGUMENTS…: starts a server in replication mode; a primary first asks whether a
# replica has newer data. If it started with what is on its disk, its replicas would copy that.
#   without Sentinels   `up` designates the primary. That pod starts as the replica of a pod that has newer data, which becomes a primary for
#                       that time; the readiness script takes the role back when the pod has its copy. No other pod starts as a primary
#   with Sentinels      these name the primary, of which all others start as replicas. If they still name this server, they have a
#                       replica that has newer data take over
# What is newer, and for how long a server waits for those that do not answer, is decided as for a cluster:
#   every write is on this disk                only a primary that was made meanwhile has newer data (appendfsync always)
#   an append-only file                        silent replicas are not waited for
#   a snapshot, and replicas are silent        it waits for SECONDS: they may be starting with a newer snapshot
#   no data on this disk, replicas are silent  it waits for PATIENCE: in a new deployment all answer soon
#   a replica loads or copies its data         it waits for PATIENCE
# Others never wait for this server, so no two wait for each other; and nothing is written down, so a script that is killed begins anew.
# The container's environment sets DEPLOYMENT, POD_NAME and SERVERS (what follows a pod's name in its host name), and PRIMARY_FILE;
# PRIMARY_SERVICE, the Service of the primary, without Sentinels; the variables of sentinels.sh with them. The file `servers` beside CONFIG has
# their number.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"

now() { date +%s; }
say() { echo "start-replication: $*" >&2; }

# peers: host names of the other servers.
peers() {
  number=0 count=$(cat "${CONFIG%/*}/servers" 2>/dev/null)
  while [ "$number" -lt "${count:-1}" ]; do
    [ "$DEPLOYMENT-$number" = "$POD_NAME" ] || echo "$DEPLOYMENT-$number$SERVERS"
    number=$((number + 1))
  done
}

# judge HOST: prints a line `KIND POSITION HOST LINEAGE PARENT`. The kind is what that server is now: silent, busy (it loads or
# synchronizes), poor (its copy has nothing more than this disk), primary (it is one, with data), linked or loaded (its copy has more, and
# is from a primary, or from its own disk). LINEAGE is the history of its copy, and PARENT the one before.
judge() {
  ask "$1"
  if [ -z "$role" ]; then
    kind=silent
  elif [ "$loading" != 0 ]; then
    kind=busy
  elif [ "$role" = master ]; then
    has_data && kind=primary || kind=poor
  elif [ "$syncing" != 0 ]; then
    kind=busy
  elif [ $durable = no ] && newer; then
    [ "$since" -ge 0 ] && kind=linked || kind=loaded
  else
    kind=poor
  fi
  echo "$kind $position $1 $lineage $parent"
}

# survey: what all peers are, a line for each.
survey() {
  for host in $(peers); do
    judge "$host" &
  done
  wait
}

has() { echo "$seen" | grep -q "^$1"; }

# best: `KIND POSITION HOST` to copy from: a primary, else the copy with the greatest position. What continues the history that this
# server had last comes first, then that history: a former primary that has not noticed its successor has less.
best() {
  echo "$seen" | awk -v last="$last" '
    $1 !~ /^(primary|linked|loaded)$/ { next }
    { own = last == "" || $1 == "loaded" ? 0 : $5 == last ? 2 : $4 == last; print own, $1 == "primary", $1, $2, $3 }
  ' | sort -k 1,1nr -k 2,2nr -k 4,4nr | awk 'NR == 1 { print $3, $4, $5 }'
}

# patience_for: seconds for which this server waits for what it has seen.
patience_for() {
  if has primary || has linked || has loaded || { has busy && [ $durable = no ]; }; then
    echo "$patience"
  elif has silent; then
    case $disk in aof) echo 0 ;; rdb) echo "$seconds" ;; none) echo "$patience" ;; esac
  else
    echo 0
  fi
}

# silent_for SECONDS: whether a server is silent, and may still answer within that time.
silent_for() { has silent && [ "$waited" -lt "$1" ]; }

# take_over: has $host become a primary, so that this server can copy its data.
take_over() { [ "$kind" = primary ] || echo 'REPLICAOF NO ONE' | tell "$host" 2 | grep -q '^OK'; }

# may_follow: whether $host is the source now. Others that are silent may have more. A server that runs answers within seconds; one that
# starts has only its own disk.
may_follow() {
  case $kind in
    primary) true ;;
    linked) ! silent_for 5 ;;
    loaded) ! silent_for "$seconds" ;;
    *) false ;;
  esac
}

# may_lead: whether this server may start as the primary.
may_lead() { true; }

# find_source: sets primary to the host that this server is to follow; empty where it is to be the primary.
find_source() {
  primary=''
  [ -n "$(peers)" ] || return 0
  own_copy
  # Without Sentinels only the designated pod asks others.
  [ -e "$HISTORY" ] || { [ -z "$watching" ] && [ "$POD_NAME" != "$(designated)" ]; } || await_names
  asking=$(now) began='' told='' chosen=''
  while :; do
    primary=$(named)
    [ "$primary" = "$POD_NAME$SERVERS" ] || return 0
    [ -n "$began" ] || began=$(now)
    primary=''
    seen=$(survey)
    waited=$(($(now) - began)) limit=$(patience_for)
    # shellcheck disable=SC2046
    set -- $(best)
    kind=${1-} position=${2-} host=${3-}
    if [ "$waited" -ge "$limit" ] && may_lead; then
      [ "$limit" = 0 ] || say "starts with its own data ($disk): after $waited s no replica has handed over newer data"
      return
    fi
    if may_follow; then
      [ "$host" = "$chosen" ] || say "$host has newer data than this server's disk ($disk)"
      chosen=$host
      follow && return
    else
      [ -n "$told" ] || [ "$limit" = 0 ] || say "waits for replicas for up to $limit s: they may have newer data than this server's disk ($disk)"
      told=yes
    fi
    sleep 0.2
  done
}

# watching: yes where Sentinels decide who is the primary. A server is none beside another.
watching=''
if [ -n "${SENTINELS-}" ]; then
  . "${0%/*}/sentinels.sh"
  watching=yes
  rm -f "$DATA/outvoted"
  # named: the primary by most Sentinels. Until most answer the server waits, for up to 30 s: they may name another one by now. Then one is
  # enough, or the primary that the other servers name.
  named() {
    until primary=$(watched "$([ $(($(now) - asking)) -lt 30 ] && most || echo 1)") && [ -n "$primary" ]; do
      [ $(($(now) - asking)) -lt 30 ] || primary=$(leading)
      [ -z "$primary" ] || break
      say "waits for most Sentinels to name the primary"
      sleep 1
    done
    echo "$primary"
  }
  # even: whether all other servers that answer have the same data as $host. A Sentinel may promote any of them, because what it knows of
  # their data is up to two seconds old.
  even() { ! has busy && echo "$seen" | awk -v position="$position" '$1 != "silent" && $2 < position { lesser = 1 } END { exit lesser }'; }
  # may_lead: not beside another primary, nor while Sentinels are about to promote a replica. At a pod's new address they look after 15 s
  # only, and would promote one while clients write here: they begin anew with this server. A container that starts again keeps its
  # address, so that Sentinels can fail over from one that never comes up.
  may_lead() {
    [ "$kind" != primary ] || return 1
    [ "$waited" -ge 10 ] || ! failing_over || return 1
    [ "$(cat "$DATA/address" 2>/dev/null)" != "${POD_IP-}" ] || return 0
    begin_anew
    echo "${POD_IP-}" >"$DATA/address"
    # A replica may have been promoted meanwhile.
    return 1
  }
  # follow: has $host become the primary, and fails: Sentinels name it soon. If any replica will do, they are asked for a failover. If
  # replicas differ, or Sentinels know no replica yet or have not noticed a primary for 5 s, they are told. While one of them promotes a
  # replica by itself, nothing is done.
  follow() {
    if [ "$kind" = primary ]; then
      [ "$waited" -lt 5 ] || watch "$host"
    elif [ "$waited" -lt 10 ] && failing_over; then
      return 1
    elif ! even || ! fail_over "$waited"; then
      take_over && watch "$host"
    fi
    return 1
  }
else
  rm -f "$DATA/lent" "$DATA/replaced" "$DATA/closed"
  named() { [ "$POD_NAME" = "$(designated)" ] && echo "$POD_NAME$SERVERS" || echo "$PRIMARY_SERVICE"; }
  # follow: sets primary to the host to copy from, which has the role until this server has its copy.
  follow() {
    take_over || return 1
    primary=$host
    : >"$DATA/lent"
  }
fi

# As process 1 a shell ignores signals that it does not handle.
trap 'exit 143' TERM
seconds=${1:?seconds} patience=${2:?seconds}
shift 2
CONFIG=${2:?configuration file}
find_source
[ -z "$primary" ] || set -- "$@" --replicaof "$primary" 6379
# The entry points of Valkey's images load the modules of a bundle.
entry=$(command -v bundle-docker-entrypoint.sh || command -v docker-entrypoint.sh)
[ -z "$entry" ] || set -- "$entry" "$@"
exec "$@"
