#!/bin/sh
# Readiness of a cluster node: does it serve its part of the cluster?
#   not formed yet   ready if it answers, because formation waits until all pods are ready
#   lost its data    not ready. The others know this pod with a different node ID; it joins them again (join.sh). A roll-out must not
#                    continue with the next pod before this one has slots, or a copy of the data of a node that has
#   replica          ready if its data set is loaded and its link to the primary is up
#   just started     ready if it reaches every primary, and the cluster's state is ok. In the first two minutes a primary that does not
#                    answer may be starting too; after that it counts as lost
#   any member       ready if it reaches the majority of primaries, and the cluster's state is ok, or is not ok because slots of other
#                    nodes are lost: one lost shard must not take every pod out of the Service, and must not block the restart that
#                    repairs it
# A member that has just started, or finds the cluster not ok, looks up silent peers by their DNS names, and meets them again. This is
# needed when all pods come back at once: each has a new address, so every address in every nodes.conf is outdated.
. "${0%/*}/node.sh"
. "${0%/*}/join.sh"

# announce_machine: call look first. Once after each start, if clients outside connect by node ports, it announces the address of the
# machine: the pod may be on a different machine than when its file was written. HOST_IP comes from the container's environment.
announce_machine() {
  told=$DATA/told-machine
  [ -n "$run" ] && [ "$run" != "$(cat "$told" 2>/dev/null)" ] || return 0
  if grep -q '^# machine$' "/valkey/announced/$POD_NAME.conf" 2>/dev/null; then
    case $HOST_IP in *:*) family=ipv6 ;; *) family=ipv4 ;; esac
    echo "CONFIG SET cluster-announce-client-$family $HOST_IP" | tell localhost 3 | grep -q '^OK' || return 0
  fi
  echo "$run" >"$told"
}

look
came_up
remember
reload_certificate
announce_machine
[ -n "$state" ] || exit 1
if [ "$known" -le 1 ]; then
  lost_data
  case $? in
    0) meet_again ;;
    # The node is new, or has its data.
    1) exit 0 ;;
    # It is unknown whether the node has lost its data. The pod is not ready, because the roll-out would continue with the next pod, which
    # may have the only copy. After two minutes it is ready: in some Kubernetes clusters a Service without ready pods does not answer at
    # all, and otherwise no pod would ever become ready.
    *) [ "$uptime" -le 120 ] || exit 0 ;;
  esac
  exit 1
fi
# A primary without slots that has just started may have come back without its data. It is not ready until it has slots or is a replica,
# even if that takes longer than 60 s.
idle=$DATA/idle-primary
if [ "$role" = master ] && { [ "$uptime" -le 60 ] || [ -e "$idle" ]; } && [ -z "$(own_slots)" ]; then
  : >"$idle"
  ! lost_data || replicate_again
  exit 1
fi
rm -f "$idle"
forget_former
linked=yes
[ "$role" = master ] || [ "$link" = up ] || linked=no
# A node detects old addresses within the node timeout; until then the state may still be ok.
if [ "$state" = ok ] && [ "$uptime" -gt 60 ]; then
  [ $linked = yes ]
  exit
fi

reached=0 met=0 now=$(date +%s)
while read -r _id address flags _primary pinged _received _epoch connection slots; do
  # A connection attempt to an outdated address is reported as a connection, but its ping stays unanswered.
  [ "$pinged" = 0 ] || pinged=$((now - pinged / 1000))
  case $flags,$connection in
    *myself*) silent=no ;;
    *fail,* | *'fail?'* | *noaddr* | *handshake* | *,disconnected) silent=yes ;;
    *) [ "$pinged" -gt 1 ] && silent=yes || silent=no ;;
  esac
  if [ "$silent" = no ]; then
    [ -z "$slots" ] || reached=$((reached + 1))
    continue
  fi
  peer=${address#*,}
  peer=${peer%%,*}
  # Meets at most eight peers, so that the probe ends in time. The addresses of the others come by gossip.
  [ "$met" -lt 8 ] && [ -n "$peer" ] && [ "$peer" != "$address" ] || continue
  met=$((met + 1))
  # The peer is asked to send the MEET. The request needs the password, so this node cannot meet a pod of a different deployment that has
  # got the peer's address.
  echo "CLUSTER MEET $POD_IP 6379" | tell "$peer" 2 >/dev/null &
done <<NODES
$(echo 'CLUSTER NODES' | tell localhost 3)
NODES
wait

[ $linked = yes ] || exit 1
if [ "$uptime" -le 120 ]; then
  [ "$state" = ok ] && [ "$reached" -ge "$size" ]
  exit
fi
[ $((reached * 2)) -gt "$size" ] && { [ "$state" = ok ] || [ "$slots_ok" -lt 16384 ]; }
