# shellcheck shell=sh disable=SC2034
# Functions that send commands to nodes; sourced by the other scripts. The container's environment sets
#   VALKEY_PASSWORD_FILE  file with the password; with Sentinels, sentinel-password is in the same directory
#   VALKEY_TLS_CA         file of the certificate authority, with TLS only; tls.crt and tls.key are in the same directory
#   VALKEY_CLI            name of the client program, if it is not valkey-cli

CARRIAGE_RETURN=$(printf '\r')
DATA=${DATA:-/data}
# The mark says what this node's data set is. Its first line is `ID OFFSET LAST SIZE FILES`: the replication ID, an offset up to which the disk
# has all writes, the lowest offset at which the last of these writes may be, and size and names of the append-only file at that offset. LAST
# is lower, because a replication stream goes on without writes: it has pings, and the messages of Sentinels. Each other line is `ID OFFSET`: an earlier
# replication ID, and the offset at which the data set went on with a newer one. Probes write the mark, start scripts read it (copies.sh).
MARK=$DATA/mark
# This file exists from the start of a server until a probe finds that the server has loaded its data.
STARTING=$DATA/starting

# now: prints the seconds since the machine started. Scripts measure their waits by it, because nobody can set this clock. Another machine
# counts from its own start, so no file keeps such a value.
now() { read -r up _ </proc/uptime && echo "${up%.*}"; }

# tell HOST SECONDS [PORT]: sends the lines of standard input as commands to a node, and prints the answers. The password is the first line
# of the client's standard input, because an argument or an environment variable would show in a list of processes. For localhost any
# certificate is accepted: probes and an orderly stop must work even if this node's certificate is expired, or comes from an authority that
# the files do not name.
tell() {
  trust=''
  [ "$1" != localhost ] || trust=--insecure
  # Only the user admin may change Sentinels.
  secret=$VALKEY_PASSWORD_FILE user=''
  [ "${3-}" != 26379 ] || secret=${secret%/*}/sentinel-password user=admin
  { cat "$secret" && echo && cat; } |
    timeout "$2" "${VALKEY_CLI:-valkey-cli}" -h "$1" -p "${3:-6379}" -t 2 ${user:+--user "$user"} ${VALKEY_TLS_CA:+--tls ${trust:---cacert "$VALKEY_TLS_CA"}} --askpass --no-auth-warning 2>/dev/null
}

# await_names: waits for 3 s, so that DNS has the names of pods that start at the same time as this one. A lookup that is too early costs
# more time: CoreDNS remembers for 5 s that a name does not exist.
await_names() { sleep 3; }

# designated: prints the pod that is the primary in a deployment without Sentinels. When a different pod takes over, `up` writes its name
# to PRIMARY_FILE. Running pods see the change seconds later, at the latest after two minutes.
designated() { cat "${PRIMARY_FILE-}" 2>/dev/null || echo "$DEPLOYMENT-0"; }

# look: sets variables from this node's INFO and CLUSTER INFO. If the node does not answer, role and state are empty. While the node
# loads its data, state is empty.
look() {
  run='' role='' loading='' link='' applied=0 since=-1 followed='' state='' uptime=0 known=0 size=0 slots_ok=0 replicas=''
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
      slave[0-9]*) replicas="$replicas $value" ;;
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

# remember: call look first. Writes the mark. Nothing is written of a replica without a primary, which may not have what its disk had, nor
# while the append-only file of a new data set is not complete: until then, writes go to a temporary file, and a start loads the former files.
remember() {
  [ "$loading" = 0 ] && [ "$scheduled" = 0 ] && { [ "$role" = master ] || [ "$link" = up ]; } || return 0
  [ "$rewriting" = 0 ] || [ ! -e "$DATA/appendonlydir/temp-appendonly.aof.incr" ] || return 0
  former='' earlier='' count=0
  [ ! -e "$MARK" ] || while read -r id offset least held names; do
    count=$((count + 1))
    [ $count -le 20 ] || break
    [ -n "$former" ] && earlier="$earlier
$id $offset" || former=$id before=$offset lowest=$least former_size=$held former_files=$names
  done <"$MARK"
  # A server without a backlog does not count its offset. What is written between the answer of the server and this line counts for that
  # answer too, so the offset may be a little too low for the size.
  [ "$counted" = 1 ] && files=$(append_only_files) || files='0 -'
  bytes=$((${files% *} + buffered)) files=${files#* }
  if [ "$lineage" != "$former" ]; then
    [ "$parent" = "$former" ] || earlier=''
    if [ -n "$parent" ]; then
      earlier="
$parent $left$earlier"
    elif [ "$role" = master ] && [ -n "$loaded" ]; then
      earlier="
$(echo "$loaded" | sed 's/\([^:]*\):\([^:]*\):*/\1 \2\n/g')"
    fi
  elif [ "$files" = - ]; then
    # Without an append-only file, the snapshot says its offset.
    return 0
  fi
  # What the file has gained since the last mark came after the offset of that mark.
  last=$position
  if [ "$lineage $files" = "$former ${former_files-}" ]; then
    [ "$bytes" = "$former_size" ] && last=$lowest || last=$((before + bytes - former_size))
  fi
  # A full disk must not replace the mark by an empty file.
  echo "$lineage $position $last $bytes $files$earlier" >"$MARK.new" || return 0
  # The position may be older after a power loss; the replication ID may not.
  [ "$lineage" = "$former" ] || sync "$MARK.new" 2>/dev/null
  mv "$MARK.new" "$MARK"
}

# came_up: call look first. Notes that this node has loaded its data (copies.sh).
came_up() { [ "$loading" != 0 ] || [ ! -e "$STARTING" ] || rm "$STARTING"; }

# own_slots: prints the slots that this node serves in a cluster.
own_slots() {
  echo 'CLUSTER NODES' | tell localhost 3 | while read -r _id _address flags _primary _sent _received _epoch _connection slots; do
    case $flags in *myself*) echo "$slots" ;; esac
  done
}

# acceptable: whether clients that trust the authority in VALKEY_TLS_CA accept the certificate in the files. The function starts a
# server without data that uses the files, and connects to it.
acceptable() {
  files=${VALKEY_TLS_CA%/*} client=${VALKEY_CLI:-valkey-cli} found=1
  timeout 3 "${client%cli}server" --port 0 --tls-port 16390 --bind 127.0.0.1 --save '' --dir / --tls-auth-clients no \
    --tls-cert-file "$files/tls.crt" --tls-key-file "$files/tls.key" --tls-ca-cert-file "$VALKEY_TLS_CA" >/dev/null &
  for _ in 1 2 3 4 5; do
    sleep 0.2
    said=$(timeout 1 "$client" -h 127.0.0.1 -p 16390 --tls --cacert "$VALKEY_TLS_CA" PING 2>&1)
    case $said in
      PONG) found=0 && break ;;
      *certificate*) break ;;
    esac
  done
  kill $! 2>/dev/null
  # Waits for the test server: process 1 is the Valkey server, which does not reap processes that this shell leaves behind.
  wait $! 2>/dev/null
  return "$found"
}

# reload_certificate: call look first. With TLS, makes this node load its certificate again when Kubernetes has changed the files, and
# once after each start. Files that clients would refuse are not loaded, because replicas and Sentinels would lose the connection to
# this server. The next probe tries again.
reload_certificate() {
  [ -n "${VALKEY_TLS_CA-}" ] || return 0
  files=${VALKEY_TLS_CA%/*} loaded=$DATA/loaded-certificate
  current="$run $(cat "$files/tls.crt" "$files/tls.key" "$VALKEY_TLS_CA" | cksum)"
  [ -z "$run" ] || [ "$current" != "$(cat "$loaded" 2>/dev/null)" ] || return 0
  if acceptable; then
    echo "CONFIG SET tls-cert-file $files/tls.crt tls-key-file $files/tls.key tls-ca-cert-file $VALKEY_TLS_CA" |
      tell localhost 3 | grep -q '^OK' && echo "$current" >"$loaded"
  fi
  [ -n "$run" ] || look
}
