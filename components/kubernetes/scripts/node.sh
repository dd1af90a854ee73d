# shellcheck shell=sh disable=SC2034
# Functions that send commands to nodes; sourced by the other scripts. The container's environment sets
# VALKEY_PASSWORD_FILE, VALKEY_TLS_CA where connections are encrypted (tls.crt and tls.key lie beside it), VALKEY_CLI where the
# client has another name.

CARRIAGE_RETURN=$(printf '\r')
DATA=${DATA:-/data}
# Replication ID that this node had last.
HISTORY=$DATA/history

# tell HOST SECONDS [PORT]: sends the lines on standard input as commands, prints the answers. The password goes in first by
# standard input as well: an argument or a variable of the environment would show in a list of processes. This node may have any
# certificate: an expired one, or one of another authority than the files, keeps nobody from probing or stopping it in order.
tell() {
  trust=''
  [ "$1" != localhost ] || trust=--insecure
  { cat "$VALKEY_PASSWORD_FILE" && echo && cat; } |
    timeout "$2" "${VALKEY_CLI:-valkey-cli}" -h "$1" -p "${3:-6379}" -t 2 ${VALKEY_TLS_CA:+--tls ${trust:---cacert "$VALKEY_TLS_CA"}} --askpass --no-auth-warning 2>/dev/null
}

# await_names: gives the names of pods that start with this one 3 s to appear. CoreDNS remembers for 5 s that a name does not exist.
await_names() { sleep 3; }

# designated: the pod that is the primary where no Sentinel decides. `up` writes it to PRIMARY_FILE when another takes over. Running
# pods see it seconds later, or at the latest after two minutes.
designated() { cat "${PRIMARY_FILE-}" 2>/dev/null || echo "$DEPLOYMENT-0"; }

# look: sets variables from this node's INFO and CLUSTER INFO. Without an answer role and state stay empty; state also
# while the node loads its data.
look() {
  run='' role='' loading='' link='' applied=0 since=-1 followed='' state='' uptime=0 known=0 size=0 slots_ok=0 replicas='' lineage=''
  answer=$(printf 'INFO server persistence replication\nCLUSTER INFO\n' | tell localhost 3)
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

# own_slots: prints the slots that this node serves in a cluster.
own_slots() {
  echo 'CLUSTER NODES' | tell localhost 3 | while read -r _id _address flags _primary _sent _received _epoch _connection slots; do
    case $flags in *myself*) echo "$slots" ;; esac
  done
}

# acceptable: whether clients of the authority beside the files of TLS accept these. A server without data shows them.
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
  # The server is process 1, which would keep what this shell leaves behind.
  wait $! 2>/dev/null
  return "$found"
}

# reload_certificate: after look. Where connections are encrypted, makes this node load its files again when Kubernetes has changed them,
# and once after each start. Files that clients would refuse are not loaded: a server with others than its replicas and
# Sentinels accept is cut off from them one by one. The next probe tries again.
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
