# shellcheck shell=sh disable=SC2034,SC2154
# Functions that find out whether a node came back without its data. A node comes back empty, and knows no other nodes, if its pod lost
# its volume or never had one. The others know its host name with its former node IDs. Readiness and the keeper source this file
# after node.sh. The container's environment sets SERVICE and POD_NAME.

IDLE=$DATA/idle-primary

# without_slots: call look first. Whether this node is a primary without slots that has just started, and may have come back without its
# data. The keeper notes this state in the file IDLE, because it may last for longer than 60 s.
without_slots() { [ "$role" = master ] && { [ "$uptime" -le 60 ] || [ -e "$IDLE" ]; } && [ -z "$(own_slots)" ]; }

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
  [ -z "$primary" ] || echo 'INFO keyspace' | tell localhost 2 | grep -q '^db' || former=$gone
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
