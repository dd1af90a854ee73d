# shellcheck shell=sh disable=SC2034,SC2154
# Functions with which a node that came back without its data takes the place that it had; sourced after node.sh by the readiness script,
# so each probe takes one step, and a step that was interrupted is taken again. A node is empty and alone when its pod lost its volume, or
# never had one. Others know its host name by former node IDs.
#   1. A node that serves clients meets it, when that node knows that its former IDs are failed and own no slots, and that another node
#      serves the slots of their shard. Until then a replica may be taking over. Slots that nobody serves stay so: their data is lost,
#      and a person decides.
#   2. It replicates the primary of that shard. It never owns slots by itself.
#   3. It has its copy: all nodes forget its former IDs.
# The container's environment sets SERVICE, POD_NAME, POD_IP.

# lost_data: whether a node that serves clients knows this pod's host name by another node ID. Fails with 1 when it does not, and when
# nobody serves clients yet, which the Service tells at once; with 2 when that is not known, as on a busy machine. Sets own, this node's ID; former, those
# others, and primary, the node that this one can replicate. Both are empty while a former ID is not failed or owns slots, and
# where their shard has no primary.
lost_data() {
  former='' primary=''
  own=$(echo 'CLUSTER MYID' | tell localhost 2)
  own=${own%"$CARRIAGE_RETURN"}
  [ -n "$own" ] || return 2
  asked=$(date +%s)
  view=$(echo 'CLUSTER NODES' | tell "$SERVICE" 2)
  case $view in
    *myself*) ;;
    '') [ $(($(date +%s) - asked)) -lt 2 ] && return 1 || return 2 ;;
    *) return 2 ;;
  esac
  others=$(echo "$view" | grep -F ",$POD_NAME." | grep -vF "$own")
  [ -n "$others" ] || return 1
  gone=$(echo "$others" | awk '$3 !~ /(^|,)fail(,|$)/ || NF > 8 { waits = 1 } { ids = ids " " $1 } END { if (!waits) print ids }')
  [ -n "$gone" ] || return 0
  primary=$(echo 'CLUSTER SHARDS' | tell "$SERVICE" 2 | shard_primary "$gone")
  [ -z "$primary" ] || former=$gone
}

# shard_primary IDS: out of CLUSTER SHARDS, the primary with slots of the first shard that one of these nodes belongs to.
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

# meet_again: the first step. The peer sends the MEET: it knows the password, and another pod at this address does not.
meet_again() {
  [ -n "$former" ] && is_empty || return 0
  echo "CLUSTER MEET $POD_IP 6379" | tell "$SERVICE" 2 >/dev/null
}

# replicate_again: the second step.
replicate_again() {
  [ -n "$former" ] && is_empty || return 0
  # Before the step: the node is a replica after it, and others forget its former IDs only then.
  echo "$former" >"$DATA/former-ids"
  echo "CLUSTER REPLICATE $primary" | tell localhost 2 >/dev/null
}

# forget_former: the third step; after look. The file has the IDs in its first line, then the nodes that are left to be told; a node that
# does not answer now is told by a later probe.
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

# hosts: host names of all nodes that this one knows.
hosts() { echo 'CLUSTER NODES' | tell localhost 2 | awk '{ split($2, field, ","); if (field[2] != "") print field[2] }'; }
