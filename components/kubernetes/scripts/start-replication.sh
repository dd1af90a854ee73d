#!/bin/sh
# start-replication.sh SECONDS|wait|default PROGRAM CONFIG ARGUMENTS…: starts a server in replication mode. A primary first asks its replicas
# whether one has newer data. If it simply started, its replicas would copy the data on its disk.
#   without Sentinels   `up` designates the primary. If a different pod has newer data, the designated pod starts as its replica, and that
#                       pod is the primary for this time. When the designated pod has copied the data, its keeper takes the role
#                       back. No other pod starts as a primary
#   with Sentinels      the Sentinels name the primary, and all other servers start as its replicas. If they still name this server although
#                       a replica has newer data, the script lets the Sentinels promote that replica
# The rules for newer data, and for waiting for silent servers, are those of a cluster (copies.sh). If every write is on this
# disk (appendfsync always), only a primary that was promoted meanwhile can have newer data.
# Other servers never wait for this one, so no two servers wait for each other. The script saves no state, so it can be killed and run
# again. The container's environment sets
#   DEPLOYMENT, POD_NAME, PRIMARY_FILE
#   SERVERS          the part of the servers' host names after the pod's name
#   PRIMARY_SERVICE  the Service of the primary, in deployments without Sentinels
#   the variables of sentinels.sh, in deployments with Sentinels
# The file `servers` in the directory of CONFIG has the number of servers.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"

# peers: prints the host names of the other servers.
peers() {
  number=0 count=$(cat "${CONFIG%/*}/servers" 2>/dev/null)
  while [ "$number" -lt "${count:-1}" ]; do
    [ "$DEPLOYMENT-$number" = "$POD_NAME" ] || echo "$DEPLOYMENT-$number$SERVERS"
    number=$((number + 1))
  done
}

# judge HOST: prints a line `KIND POSITION HOST COPY` about that server. COPY is its copy as `ask` describes it. KIND is its present state:
#   silent   it does not answer
#   busy     it is loading data or synchronizing
#   poor     its copy does not have more than this disk
#   level    the same, and it has had a primary since it started
#   primary  it is a primary with data. Without Sentinels, one that lacks data of this disk does not count: nobody made it the primary
#   linked   its copy has more than this disk, and comes from a primary
#   loaded   its copy has more than this disk, and comes from its own disk
judge() {
  ask "$1"
  kind=poor
  if [ -z "$role" ]; then
    kind=silent
  elif [ "$loading" != 0 ]; then
    kind=busy
  elif [ "$role" = master ]; then
    ! has_data || case $watching$(relation) in yes* | more | same) kind=primary ;; esac
  elif [ "$syncing" != 0 ]; then
    kind=busy
  elif [ $durable = no ] && preferable; then
    [ $synced = yes ] && kind=linked || kind=loaded
  elif [ $synced = yes ]; then
    kind=level
  fi
  echo "$kind $position $1 $copy"
}

# take_over: makes $host a primary, so that this server can copy its data.
take_over() { [ "$kind" = primary ] || echo 'REPLICAOF NO ONE' | tell "$host" 2 | grep -q '^OK'; }

# may_follow: whether this server may copy from $host already. A silent server may have more data, so the script first waits for it.
may_follow() {
  case $kind in
    primary) true ;;
    linked | loaded) ! has silent || [ "$waited" -ge "$linked" ] ;;
    *) false ;;
  esac
}

# may_lead: whether this server may start as the primary.
may_lead() { true; }

# find_source: sets primary to the host that this server must follow; empty if this server becomes the primary.
find_source() {
  primary=''
  [ -n "$(peers)" ] || return 0
  # Without Sentinels only the designated pod asks others.
  [ -e "$MARK" ] || { [ -z "$watching" ] && [ "$POD_NAME" != "$(designated)" ]; } || await_names
  asking=$(now) began='' told='' chosen=''
  while :; do
    primary=$(named)
    [ "$primary" = "$POD_NAME$SERVERS" ] || { [ -n "$watching" ] && follows_me "$primary"; } || return 0
    [ -n "$began" ] || began=$(now)
    primary=''
    seen=$(survey)
    waited=$(($(now) - began)) limit=$(patience_for)
    # shellcheck disable=SC2046
    set -- $(echo "$seen" | best)
    kind=${1-} host=${2-}
    if { [ "$waited" -ge "$limit" ] || decided; } && may_lead; then
      [ "$waited" = 0 ] || say "starts with its own data ($disk) after $waited s, because no replica has handed over newer data"
      return
    fi
    if may_follow; then
      [ "$host" = "$chosen" ] || say "$host has newer data than this server's disk ($disk)"
      chosen=$host
      follow && return
    else
      [ "$limit" = 0 ] || tell_wait
    fi
    sleep 0.2
  done
}

# watching: yes if Sentinels decide which server is the primary. Then a server never starts as a second primary.
watching=''
rm -f "$DATA/lent" "$DATA/replaced" "$DATA/closed" "$DATA/outvoted"
if [ -n "${SENTINELS-}" ]; then
  . "${0%/*}/sentinels.sh"
  watching=yes
  # named: prints the primary that most Sentinels name. In the first 30 s, more than half of all Sentinels must name it, because Sentinels
  # that do not answer may name a different one. After 30 s, one Sentinel is enough. If none names a primary, the servers are asked.
  named() {
    until primary=$(watched "$([ $(($(now) - asking)) -lt 30 ] && most || echo 1)") && [ -n "$primary" ]; do
      [ $(($(now) - asking)) -lt 30 ] || primary=$(leading)
      [ -z "$primary" ] || break
      say "waits until most Sentinels name the primary"
      sleep 1
    done
    echo "$primary"
  }
  # even: whether all other servers that answer have at least the data of $host. A Sentinel may promote any of them, because its knowledge of
  # their positions is up to two seconds old.
  even() {
    ! has busy && echo "$seen" | awk -v host="$host" '
      $1 == "silent" { next }
      { at[NR] = $2; split($4, id, ":"); line[NR] = id[1] }
      $3 == host { most = $2; own = id[1] }
      END { for (i in at) if (at[i] < most || line[i] != own) exit 1 }'
  }
  # may_lead: whether this server may start as the primary. It may not if there is a primary, or while Sentinels are about to promote a
  # replica. If the pod has a new address, Sentinels connect to it only after 15 s. They would then promote a replica while clients already
  # write here. So the script first makes them connect again. A container that restarts keeps its address, so the script does not do that:
  # Sentinels can still fail over from a server that never comes up.
  may_lead() {
    [ "$kind" != primary ] || return 1
    [ "$waited" -ge 10 ] || ! failing_over || return 1
    [ "$(cat "$DATA/address" 2>/dev/null)" != "${POD_IP-}" ] || return 0
    begin_anew
    echo "${POD_IP-}" >"$DATA/address"
    # A replica may have been promoted meanwhile.
    return 1
  }
  # follow: makes $host the primary. It always fails, so that the script asks again: Sentinels name the new primary soon.
  #   $host is a primary already: if Sentinels have not noticed it for 5 s, they are told to watch it.
  #   A Sentinel is promoting a replica by itself: nothing is done.
  #   All replicas have the same data: a Sentinel is asked for a failover.
  #   Replicas differ, or no Sentinel can fail over: $host is made the primary, and Sentinels are told to watch it.
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
  named() { [ "$POD_NAME" = "$(designated)" ] && echo "$POD_NAME$SERVERS" || echo "$PRIMARY_SERVICE"; }
  # follow: makes $host the primary until this server has copied its data, and sets primary to $host.
  follow() {
    take_over || return 1
    primary=$host
    : >"$DATA/lent"
  }
fi

# The shell is process 1, which ignores signals for which it has no handler.
trap 'exit 143' TERM
CONFIG=${3:?configuration file}
limits "$1"
shift
own_copy
settle
find_source
set_aside "$primary"
[ -z "$primary" ] || set -- "$@" --replicaof "$primary" 6379
become replication "$@"
