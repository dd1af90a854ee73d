#!/bin/sh
# start-cluster.sh SECONDS|wait|default PROGRAM CONFIG ARGUMENTS…: starts a cluster node. If the node was a primary with slots, by its
# nodes.conf, it first asks its replicas whether one has newer data. If it simply started, its replicas would copy the data on its disk.
# Instead, a replica with newer data takes over. Then this node starts, learns of the new primary from the others, and becomes its
# replica. What this script finds, and what it does:
#   a replica has all data of this disk and more       the replica that has most takes over
#   a node has taken over already                      the server starts
#   every write is on this disk (appendfsync always)   the server starts
#   a replica has more, but cannot take over yet       it waits: without a majority of primaries, this server could not serve clients either
#   replicas are silent, or are loading their data     it waits for SECONDS, or until they answer (copies.sh)
# Replicas never wait here, so no two nodes wait for each other. The script saves no state, so it can be killed and run again.
. "${0%/*}/node.sh"
. "${0%/*}/copies.sh"

# members FILE: reads nodes.conf, and prints nothing unless this node is a primary with slots. The first line is `own ID SLOT`, with this
# node's first slot. Each other node has a line `KIND ID HOST`. KIND is peer for nodes of this node's shard, including former primaries
# of the shard, and other for all others.
members() {
  awk '
    NF < 8 { next }
    {
      fields = split($2, field, ",")
      shard = ""
      for (i = 3; i <= fields; i++) if (field[i] ~ /^shard-id=/) shard = field[i]
    }
    $3 ~ /myself/ { own = $1; own_shard = shard; slot = $3 ~ /master/ && $9 !~ /^\[/ ? $9 : ""; next }
    fields > 1 && field[2] != "" { id[++count] = $1; host[count] = field[2]; of[count] = $4; shards[count] = shard }
    END {
      if (slot == "") exit
      sub(/-.*/, "", slot)
      print "own", own, slot
      for (i = 1; i <= count; i++)
        print (of[i] == own || (shards[i] != "" && shards[i] == own_shard) ? "peer" : "other"), id[i], host[i]
    }' "$1" 2>/dev/null
}

# judge ID HOST: prints the present state of that peer.
#   silent, busy          it does not answer; it is loading data or synchronizing. These lines go on with `-1 HOST`
#   gone                  a different node has its host name, or it follows a different primary
#   primary HOST          it is a primary with slots
#   poor                  its copy does not have more than this disk
#   level                 the same, and it has had a primary since it started
#   linked, loaded        its copy has more than this disk, and comes from a primary or from its own disk; a line that `best` reads
judge() {
  ask "$2" 'CLUSTER NODES'
  # shellcheck disable=SC2046
  set -- "$1" "$2" $(echo "$answer" | awk '$3 ~ /myself/ { print $1, $3, $4, $9; exit }')
  if [ -z "$role" ]; then
    echo "silent -1 $2"
  elif [ "$loading" != 0 ] || [ $# -lt 5 ]; then
    echo "busy -1 $2"
  elif [ "$3" != "$1" ]; then
    echo gone
  elif [ "$role" = master ]; then
    [ -n "${6-}" ] && echo "primary $2" || echo poor
  elif [ "$5" != "$own" ]; then
    echo gone
  elif [ "$syncing" != 0 ]; then
    echo "busy -1 $2"
  elif preferable; then
    [ $synced = yes ] && echo "linked $position $2 $copy" || echo "loaded $position $2 $copy"
  else
    [ $synced = yes ] && echo level || echo poor
  fi
}

# peers: prints `ID HOST` of each peer.
peers() { echo "$members" | sed -n 's/^peer //p'; }

# superseded: whether a node of a different shard knows a new owner of this node's slots. Gossip will tell this node the same once it runs.
superseded() {
  found=$(
    echo "$members" | awk '$1 == "other" && ++count <= 8 { print $3 }' | {
      while read -r host; do
        echo 'CLUSTER NODES' | tell "$host" 2 | awk -v own="$own" -v slot="$slot" '
          $1 == own && NF > 8 { mine = 1 }
          $1 != own { for (i = 9; i <= NF; i++) { split($i "-" $i, range, "-"); if (range[1] + 0 <= slot && slot <= range[2] + 0) theirs = 1 } }
          END { if (theirs && !mine) print "yes" }' &
      done
      wait
    }
  )
  [ -n "$found" ]
}

# successor: prints the host of the primary that this node will copy, if it is known: that of its shard, or the one in its nodes.conf.
successor() {
  echo "${seen-}" | sed -n 's/^primary //p' | grep . || awk '
    NF >= 8 { split($2, field, ","); host[$1] = field[2] }
    $3 ~ /myself/ { followed = $4 }
    END { print host[followed] }' "$(setting dir .)/$(setting cluster-config-file nodes.conf)" 2>/dev/null
}

# take_over: lets the best peer take over. A forced failover needs the votes of most primaries. Primaries may be starting
# too, and do not vote twice for one shard within two node timeouts. So after 3 s the peer takes over without votes, if all peers answer and
# follow this node: then no other node can have been elected. Fails if this node does not own its slots any more.
take_over() {
  host=$(echo "$seen" | best)
  host=${host##* }
  if [ "$host" != "$chosen" ]; then
    say "$host has newer data than this node's disk ($disk), so $host takes over"
    chosen=$host first=$(now) asked=0
  fi
  if [ $(($(now) - first)) -ge 3 ]; then
    ! superseded || return 1
    if ! has silent && ! has busy; then
      say "$host takes over without votes"
      echo 'CLUSTER FAILOVER TAKEOVER' | tell "$host" 2 >/dev/null
      return
    fi
  fi
  # The server abandons a failover after 5 s.
  [ $(($(now) - asked)) -ge 6 ] || return 0
  asked=$(now)
  echo 'CLUSTER FAILOVER FORCE' | tell "$host" 2 >/dev/null
}

# safe: returns when this server may start.
safe() {
  members=$(members "$(setting dir .)/$(setting cluster-config-file nodes.conf)")
  echo "$members" | grep -q '^peer ' || return 0
  [ $durable = no ] || return 0
  read -r _ own slot <<MEMBERS
$members
MEMBERS
  began=$(now) chosen='' told=''
  while :; do
    seen=$(survey)
    ! has primary || return 0
    waited=$(($(now) - began)) limit=$(patience_for)
    if [ "$waited" -ge "$limit" ] || decided; then
      [ "$waited" = 0 ] || say "starts with its own data ($disk) after $waited s, because no replica has taken over"
      return
    fi
    # While others are silent, a copy that answers may not be the newest one. The nodes elect a replica by themselves if that takes long.
    if { has linked || has loaded; } && { ! has silent || [ "$waited" -ge "$linked" ]; }; then
      take_over || return 0
      sleep 0.05
      continue
    fi
    ! superseded || return 0
    tell_wait
    sleep 0.5
  done
}

# The shell is process 1, which ignores signals for which it has no handler.
trap 'exit 143' TERM
CONFIG=${3:?configuration file}
limits "$1"
shift
own_copy
settle
safe
set_aside "$(successor)"
become cluster "$@"
