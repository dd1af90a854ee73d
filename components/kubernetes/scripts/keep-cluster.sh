#!/bin/sh
# keep-cluster.sh: one turn of the keeper of a cluster node (keep.sh). The nodes elect primaries by themselves; the keeper finds other nodes.
#   A member that has just started, or finds the cluster not ok, looks up silent peers by their DNS names, and meets them again. This is
#   needed when all pods come back at once: each has a new address, so every address in every nodes.conf is outdated.
#   A node that came back without its data returns to its former shard. Each turn takes one step, and repeats a step that was interrupted.
#   1. A member of the cluster meets this node. It does so only when it knows that the former IDs are failed and own no slots, and that
#      a different node serves the slots of their shard. Before that, a replica may still be taking over. If no node serves the slots,
#      their data is lost, and nothing is done: a person must decide.
#   2. This node becomes a replica of the shard's primary. It never takes slots by itself.
#   3. When this node has copied the data, all nodes forget its former IDs.
# The container's environment sets SERVICE, POD_NAME and POD_IP.
. "${0%/*}/node.sh"
. "${0%/*}/keeper.sh"
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

# forget_former: the third step; call look first. The first line of the file has the former IDs. The other lines are the nodes that have
# not forgotten them yet. A later turn asks a node again that does not answer now.
forget_former() {
  file=$DATA/former-ids
  [ -e "$file" ] && [ "$role" = slave ] && [ "$link" = up ] || return 0
  ids=$(head -n 1 "$file")
  remaining=$(sed 1d "$file")
  left=$(
    echo "${remaining:-$(known_nodes | awk '$3 != "-" { print $3 }')}" | while read -r host; do
      {
        answers=$(for id in $ids; do echo "CLUSTER FORGET $id"; done | tell "$host" 2)
        if [ -z "$answers" ] || echo "$answers" | grep -qv -e '^OK' -e 'Unknown node' -e '^.\{0,1\}$'; then echo "$host"; fi
      } &
    done
    wait
  )
  if [ -z "$left" ]; then
    rm -f "$file"
  else
    printf '%s\n' "$ids" "$left" >"$file.new" && mv "$file.new" "$file"
  fi
}

# meet_silent: asks silent peers to meet this node: at most eight, because the addresses of the others come by gossip. A peer
# that came back without its data is left to its own keeper.
meet_silent() {
  known_nodes | awk '$1 == "silent" && $3 != "-" && ++count <= 8' | {
    while read -r _ id peer; do
      { ! echo 'CLUSTER MYID' | tell "$peer" 2 | grep -q "^$id" || act "$peer" "CLUSTER MEET $POD_IP 6379" >/dev/null; } &
    done
    wait
  }
}

look
remember
came_up
reload_certificate
announce_machine
[ -n "$state" ] || exit 3
! stopping || exit 0
guard
if [ "$known" -le 1 ]; then
  lost_data || exit 0
  # A member sends the MEET. The request needs the password, so this node cannot meet a pod of a different deployment that has got the
  # address of a peer.
  [ -z "$former" ] || act "$SERVICE" "CLUSTER MEET $POD_IP 6379" 'returns to the cluster' >/dev/null
  exit 3
fi
if without_slots; then
  echo >"$IDLE"
  if lost_data && [ -n "$former" ]; then
    # Written before the step: the third step needs the former IDs, and this node cannot find them when it is a replica.
    echo "$former" >"$DATA/former-ids"
    act localhost "CLUSTER REPLICATE $primary" 'becomes a replica of its former shard' >/dev/null
  fi
  exit 3
fi
rm -f "$IDLE"
forget_former
[ "$state" != ok ] || [ "$uptime" -le 60 ] || exit $status
meet_silent
[ "$state" = ok ] || exit 3
exit $status
