#!/bin/sh
# hand-over.sh SECONDS: runs before a pod of a cluster stops. If this node is a primary with slots, the replica with the highest offset
# takes over, and this node stops as its replica. CLUSTER FAILOVER pauses writes until the replica has them all, so no acknowledged
# write is lost. After SECONDS the server stops in any case. Before it stops, a node waits for a moment until all machines know
# that the Service does not route to it any more. Otherwise clients would connect to a server that is gone.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"

# serves: whether this node is a primary with slots.
serves() {
  look
  [ "$role" = master ] || return 1
  [ -n "$(own_slots)" ]
}

# best: sets address to that of the online replica with the highest offset. $replicas has an entry
# `ip=…,port=…,state=online,offset=…,lag=…` for each replica.
best() {
  address=$(echo "$replicas" | tr ' ' '\n' | awk -F '[=,]' '$6 == "online" && (found == "" || $8 > most) { most = $8; found = $2 } END { print found }')
}

# unknown: whether clients, or a primary, cannot find the replica at $address yet. Clients look up its host name. If its pod has just
# started, each instance of CoreDNS may remember for 5 s that the name does not exist, or the pod's former address. A primary that has no
# connection to the replica does not vote for it. After the failover such a primary would refuse all clients (CLUSTERDOWN) until it learns
# of the replica by gossip, which takes seconds.
unknown() {
  view=$(echo 'CLUSTER NODES' | tell localhost 3)
  own=$(echo "$view" | awk '$3 ~ /myself/ { print $1 }')
  replica=$(echo "$view" | awk -v at="$address:" -v own="$own" 'index($2, at) == 1 && $4 == own { print $1 }')
  [ -n "$own" ] && [ -n "$replica" ] || return 0
  host=$(echo "$view" | awk -v id="$replica" '$1 == id { split($2, field, ","); print field[2] }')
  for _ in 1 2 3 4; do
    [ -z "$host" ] || echo 'CLUSTER MYID' | tell "$host" 2 | grep -q "$replica" || return 0
  done
  found=$(
    echo "$view" | awk '$3 == "master" && NF > 8 { split($2, field, ","); print field[2] }' | {
      while read -r host; do
        echo "CLUSTER REPLICAS $own" | tell "$host" 2 | awk -v id="$replica" '$1 == id && $8 == "connected" { known = 1 } END { if (!known) print "yes" }' &
      done
      wait
    }
  )
  [ -n "$found" ]
}

# hand_over: lets replicas take over until this node has no slots. Fails if no replica has taken over in time.
hand_over() {
  # A replica may be restarting. If no replica is online for 5 s, all pods are assumed to be stopping.
  patience=$(($(now) + 5))
  known_by=$(($(now) + 10))
  while serves; do
    [ "$(now)" -lt $end ] || return 1
    best
    if [ -z "$address" ]; then
      [ "$(now)" -lt $patience ] || return 1
      sleep 0.5
      continue
    fi
    if [ "$(now)" -lt $known_by ] && unknown; then
      sleep 0.2
      continue
    fi
    echo 'CLUSTER FAILOVER' | tell "$address" 3 >/dev/null
    # The server abandons a failover after 5 s.
    attempt=$(($(now) + 6))
    while [ "$(now)" -lt $attempt ] && [ "$(now)" -lt $end ]; do
      sleep 0.2
      look
      [ "$role" = master ] || break
    done
  done
}

begin_stop
trap remember EXIT
end=$(($(now) + ${1:?seconds}))
while hand_over; do
  # During these seconds a former primary redirects its clients, which is better than closing their connections.
  [ "$known" -le 1 ] || sleep 3
  # The new primary may be stopping too, and may have handed its slots over to this node meanwhile.
  serves || exit 0
done
# The only copy of the data is in memory. The server saves it before it stops, even if `save` is off.
echo 'CONFIG SET shutdown-on-sigterm save' | tell localhost 3 >/dev/null
exit 0
