# shellcheck shell=sh disable=SC2034,SC2154
# Functions with which a node that came back without its data returns to its former shard. A node comes back empty, and knows no other
# nodes, if its pod lost its volume or never had one. The others know its host name with its former node IDs.
# The readiness script sources this file after node.sh. Each probe takes one step, and repeats a step that was interrupted.
#   1. A member of the cluster meets this node. It does so only when it knows that the former IDs are failed and own no slots, and that
#      a different node serves the slots of their shard. Before that, a replica may still be taking over. If no node serves the slots,
#      their data is lost, and nothing is done: a person must decide.
#   2. This node becomes a replica of the shard's primary. It never takes slots by itself.
#   3. When this node has copied the data, all nodes forget its former IDs.
# The container's environment sets SERVICE, POD_NAME and POD_IP.

# lost_data: whether this pod has lost its data. It has if a node that serves clients knows this pod's host name with a different node ID.
#   Status 0: it has lost its data.
#   Status 1: it has not, or no node serves clients yet; the Service then refuses the connection at once.
#   Status 2: it is not known, for example because the machine is too busy to answer.
# The function sets own (this node's ID), former (its former IDs), and primary (ID of the node that this one can replicate). former and
# primary stay empty until all former IDs are failed and own no slots. They also stay empty if the former shard has no primary.
lost_data() {
  former='' primary=''
  own=$(echo 'CLUSTER MYID' | tell localhost 2)
  own=${own%"$CARRIAGE_RETURN"}
  [ -n "$own" ] || return 2
  asked=$(now)
  view=$(echo 'CLUSTER NODES' | tell "$SERVICE" 2)
  case $view in
    *myself*) ;;
    '') [ $(($(now) - asked)) -lt 2 ] && return 1 || return 2 ;;
    *) return 2 ;;
  esac
  others=$(echo "$view" | grep -F ",$POD_NAME." | grep -vF "$own")
  [ -n "$others" ] || return 1
  gone=$(echo "$others" | awk '$3 !~ /(^|,)fail(,|$)/ || NF > 8 { waits = 1 } { ids = ids " " $1 } END { if (!waits) print ids }')
  [ -n "$gone" ] || return 0
  primary=$(echo 'CLUSTER SHARDS' | tell "$SERVICE" 2 | shard_primary "$gone")
  [ -z "$primary" ] || former=$gone
}

# shard_primary IDS: reads the answer to CLUSTER SHARDS. It finds the first shard that has slots and one of these nodes, and prints the ID
# of its primary.
shard_primary() {
  awk -v ids="$1 " '
    function close_shard() { if (here && serves && primary != "" && !found++) print primary; here = serves = 0; primary = "" }
    { sub(/\r$/, "") }
    $0 == "slots" { close_shard() }
    key == "slots" && /^[0-9]+$/ { serves = 1 }
    key == "id" { node = $0; role = ""; if (index(ids, " " node " ")) here = 1 }
    key == "role" { role = $0 }
    key == "health" && $0 == "online" && role == "master" { primary = node }
    { key = $0 }
    END { close_shard() }'
}

# is_empty: whether this node has no keys in any database.
is_empty() { [ "$(echo 'INFO keyspace' | tell localhost 2 | grep -c '^db')" = 0 ]; }

# meet_again: the first step. This node asks the peer to send the MEET, and does not send it itself. The request needs the password, so this
# node cannot meet a pod of a different deployment that has got the peer's address.
meet_again() {
  [ -n "$former" ] && is_empty || return 0
  echo "CLUSTER MEET $POD_IP 6379" | tell "$SERVICE" 2 >/dev/null
}

# replicate_again: the second step.
replicate_again() {
  [ -n "$former" ] && is_empty || return 0
  # Written before the step: the third step needs the former IDs, and this node cannot find them when it is a replica.
  echo "$former" >"$DATA/former-ids"
  echo "CLUSTER REPLICATE $primary" | tell localhost 2 >/dev/null
}

# forget_former: the third step; call look first. The first line of the file has the former IDs. The other lines are the nodes that have
# not forgotten them yet. A later probe asks a node again that does not answer now.
forget_former() {
  file=$DATA/former-ids
  [ -e "$file" ] && [ "$role" = slave ] && [ "$link" = up ] || return 0
  ids=$(head -n 1 "$file")
  remaining=$(sed 1d "$file")
  left=$(
    echo "${remaining:-$(hosts)}" | while read -r host; do
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

# hosts: prints the host names of all nodes that this one knows.
hosts() { echo 'CLUSTER NODES' | tell localhost 2 | awk '{ split($2, field, ","); if (field[2] != "") print field[2] }'; }
