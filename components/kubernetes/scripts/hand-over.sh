#!/bin/sh
# hand-over.sh SECONDS, before a pod stops: a primary with slots fails over to the replica with the highest offset, and
# stops as a replica. CLUSTER FAILOVER pauses writes until the replica has them all, so no acknowledged write is lost.
# After SECONDS the server stops in any case. A node of a cluster that others serve on stops a little later: its machine and the
# others must learn first that clients of the Service connect elsewhere, or these find a server that is gone.
. "${0%/*}/node.sh"

now() { date +%s; }

# Whether this node is a primary that serves slots.
serves() {
  look
  [ "$role" = master ] || return 1
  [ -n "$(own_slots)" ]
}

# Address of the online replica with the highest offset, out of `ip=…,port=…,state=online,offset=…,lag=…` in $replicas.
best() {
  address='' most=-1
  for replica in $replicas; do
    case $replica in *state=online*) ;; *) continue ;; esac
    offset=${replica#*offset=}
    offset=${offset%%,*}
    [ "$offset" -gt "$most" ] || continue
    most=$offset address=${replica#ip=}
    address=${address%%,*}
  done
}

# unconnected: whether a primary does not report a connection to the replica at $address. A primary that does not know the replica does not vote
# for it, and refuses all clients after the failover (CLUSTERDOWN) until it learns of the replica by gossip, which takes seconds.
unconnected() {
  view=$(echo 'CLUSTER NODES' | tell localhost 3)
  own=$(echo "$view" | awk '$3 ~ /myself/ { print $1 }')
  replica=$(echo "$view" | awk -v at="$address:" -v own="$own" 'index($2, at) == 1 && $4 == own { print $1 }')
  [ -n "$own" ] && [ -n "$replica" ] || return 0
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

# hand_over: fails when this node still is a primary with slots: nobody has taken over.
hand_over() {
  # A replica may be restarting. Without one after 5 s all pods are stopping.
  patience=$(($(now) + 5))
  connected_by=$(($(now) + 10))
  while serves; do
    [ "$(now)" -lt $end ] || return 1
    best
    if [ -z "$address" ]; then
      [ "$(now)" -lt $patience ] || return 1
      sleep 0.5
      continue
    fi
    if [ "$(now)" -lt $connected_by ] && unconnected; then
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

end=$(($(now) + ${1:?seconds}))
while hand_over; do
  # Meanwhile an old primary redirects clients instead of closing their connections.
  [ "$known" -le 1 ] || sleep 3
  # Its primary may stop as well, and have handed over to this node meanwhile.
  serves || exit 0
done
# The only copy is in memory: the server saves it before it stops, also where `save` is off.
echo 'CONFIG SET shutdown-on-sigterm save' | tell localhost 3 >/dev/null
exit 0
