# shellcheck shell=sh disable=SC2034
# Functions that ask nodes; sourced by the other scripts. They change nothing. The container's environment sets
#   VALKEY_PASSWORD_FILE  file with the password; with Sentinels, sentinel-password is in the same directory
#   VALKEY_TLS_CA         file of the certificate authority, with TLS only; tls.crt and tls.key are in the same directory
#   VALKEY_CLI            name of the client program, if it is not valkey-cli

CARRIAGE_RETURN=$(printf '\r')
DATA=${DATA:-/data}
# The mark says what this node's data set is. Its first line is `ID OFFSET LAST SIZE FILES`: the replication ID, an offset up to which the disk
# has all writes, the lowest offset at which the last of these writes may be, and size and names of the append-only file at that offset. LAST
# is lower, because a replication stream goes on without writes: it has pings, and the messages of Sentinels. Each other line is `ID OFFSET`: an earlier
# replication ID, and the offset at which the data set went on with a newer one. Keepers write the mark, start scripts read it (copies.sh).
MARK=$DATA/mark
# This file exists from the start of a server until its keeper finds that the server has loaded its data.
STARTING=$DATA/starting
# The keeper notes here when it ended its last turn, and its process (keep.sh).
KEPT=$DATA/kept

# now: prints the seconds since the machine started. Scripts measure their waits by it, because nobody can set this clock. Another machine
# counts from its own start, so no file keeps such a value.
now() { read -r up _ </proc/uptime && echo "${up%.*}"; }

# tell HOST SECONDS [PORT]: sends the lines of standard input as commands to a node, and prints the answers. The password is the first line
# of the client's standard input, because an argument or an environment variable would show in a list of processes. For localhost any
# certificate is accepted: probes, the keeper and an orderly stop must work even if this node's certificate is expired, or comes from an authority that
# the files do not name.
tell() {
  trust=''
  [ "$1" != localhost ] || trust=--insecure
  # Only the user admin may change Sentinels.
  secret=$VALKEY_PASSWORD_FILE user=''
  [ "${3-}" != 26379 ] || secret=${secret%/*}/sentinel-password user=admin
  IFS= read -r word <"$secret"
  { printf '%s\n' "$word" && cat; } |
    timeout "$2" "${VALKEY_CLI:-valkey-cli}" -h "$1" -p "${3:-6379}" -t 2 ${user:+--user "$user"} ${VALKEY_TLS_CA:+--tls ${trust:---cacert "$VALKEY_TLS_CA"}} --askpass --no-auth-warning 2>/dev/null
}

# await_names: waits for 3 s, so that DNS has the names of pods that start at the same time as this one. A lookup that is too early costs
# more time: CoreDNS remembers for 5 s that a name does not exist.
await_names() { sleep 3; }

# designated: prints the pod that is the primary in a deployment without Sentinels. When a different pod takes over, `up` writes its name
# to PRIMARY_FILE. Running pods see the change seconds later, at the latest after two minutes.
designated() { [ -s "${PRIMARY_FILE-}" ] && cat "$PRIMARY_FILE" || echo "$DEPLOYMENT-0"; }

# look: sets variables from this node's INFO and CLUSTER INFO. If the node does not answer, role and state are empty. While the node
# loads its data, state is empty.
look() {
  run='' role='' loading='' link='' applied=0 since=-1 followed='' state='' uptime=0 known=0 size=0 slots_ok=0 replicas='' linked=0 syncing=0 refuses=no
  lineage='' parent='' left=0 position=-1 counted=0 buffered=0 rewriting=0 scheduled=0 loaded=''
  answer=$(printf 'INFO server persistence replication\nCLUSTER INFO\nCONFIG GET syslog-ident\n' | tell localhost 3)
  while IFS=: read -r name value; do
    value=${value%"$CARRIAGE_RETURN"}
    case $name in
      run_id) run=$value ;;
      uptime_in_seconds) uptime=$value ;;
      loading) loading=$value ;;
      role) role=$value ;;
      master_host) followed=${value%.} ;;
      master_link_status) link=$value ;;
      master_sync_in_progress) syncing=$value ;;
      slave_repl_offset) applied=$value ;;
      master_link_down_since_seconds) since=$value ;;
      master_replid) lineage=$value ;;
      master_replid2) parent=${value##*0000000000} ;;
      second_repl_offset) left=$((value - 1)) ;;
      master_repl_offset) position=$value ;;
      repl_backlog_active) counted=$value ;;
      aof_buffer_length) buffered=$value ;;
      aof_rewrite_in_progress) rewriting=$value ;;
      aof_rewrite_scheduled) scheduled=$value ;;
      mark) loaded=$value ;;
      cluster_state) state=$value ;;
      cluster_known_nodes) known=$value ;;
      cluster_size) size=$value ;;
      cluster_slots_ok) slots_ok=$value ;;
      min_slaves_good_slaves) refuses=yes ;;
      slave[0-9]*)
        replicas="$replicas $value"
        case $value in *state=online*) linked=$((linked + 1)) ;; esac
        ;;
    esac
  done <<ANSWER
$answer
ANSWER
}

# append_only_files: prints the size of this node's append-only file, bytes, and the names of its files, each after a slash. Without an
# append-only file, it prints `0 -`.
append_only_files() {
  names='' total=0
  for manifest in "$DATA"/appendonlydir/*.manifest; do
    # file NAME seq NUMBER type b|i|h
    [ ! -e "$manifest" ] || while read -r _ name _ _ _ type; do [ "$type" = h ] || names=$names/$name; done <"$manifest"
  done
  # shellcheck disable=SC2046
  for size in $([ -z "$names" ] || (cd "$DATA/appendonlydir" && IFS=/ && stat -c %s ${names#/} 2>/dev/null)); do total=$((total + size)); done
  echo "$total ${names:--}"
}

# own_slots: prints nothing unless this node serves slots in a cluster.
own_slots() { echo 'CLUSTER NODES' | tell localhost 3 | awk '$3 ~ /myself/ && NF > 8'; }

# known_nodes: prints a line `STATE ID HOST` for each node that this one knows, and `-` if it does not know the host name. STATE is silent if the
# node does not answer, serves if it has slots, and idle otherwise. A connection attempt to an outdated address is reported as a connection,
# but its ping stays unanswered.
known_nodes() {
  echo 'CLUSTER NODES' | tell localhost 3 | awk -v now="$(date +%s)" '
    NF >= 8 {
      late = $5 > 0 && now - int($5 / 1000) > 1
      silent = $3 !~ /myself/ && ($3 ~ /(^|,)fail[?]?(,|$)|noaddr|handshake/ || $8 == "disconnected" || late)
      fields = split($2, field, ",")
      print (silent ? "silent" : NF > 8 ? "serves" : "idle"), $1, (fields > 1 && field[2] != "" ? field[2] : "-")
    }'
}

# kept: whether the keeper of this pod has ended a turn within the last minute, and one since the server has loaded its data: before, the mark
# does not say what clients write. A server that older scripts have started has no keeper.
kept() {
  [ -e "$KEPT" ] || return 0
  [ ! -e "$STARTING" ] || return 1
  read -r beat _ <"$KEPT" && silence=$(($(now) - beat)) && [ $silence -ge 60 ] || return 0
  echo "the keeper of this server (keep.sh) has ended no turn for $silence s; its output says why. A new container gets a new keeper" >&2
  return 1
}
