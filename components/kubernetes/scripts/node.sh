# shellcheck shell=sh disable=SC2034
# Functions that send commands to nodes; sourced by the other scripts. The container's environment sets
# VALKEY_PASSWORD_FILE, VALKEY_TLS_CA where connections are encrypted, VALKEY_CLI where the client has another name.

CARRIAGE_RETURN=$(printf '\r')

# tell HOST SECONDS: sends the lines on standard input as commands, prints the answers. The password goes in first by
# standard input as well: an argument or a variable of the environment would show in a list of processes.
tell() {
  { cat "$VALKEY_PASSWORD_FILE" && echo && cat; } |
    timeout "$2" "${VALKEY_CLI:-valkey-cli}" -h "$1" -p 6379 -t 2 ${VALKEY_TLS_CA:+--tls --cacert "$VALKEY_TLS_CA"} --askpass --no-auth-warning 2>/dev/null
}

# look: sets variables from this node's INFO and CLUSTER INFO. Without an answer role and state stay empty; state also
# while the node loads its data.
look() {
  role='' loading='' link='' state='' uptime=0 known=0 size=0 slots_ok=0 replicas=''
  answer=$(printf 'INFO server persistence replication\nCLUSTER INFO\n' | tell localhost 3)
  while IFS=: read -r name value; do
    value=${value%"$CARRIAGE_RETURN"}
    case $name in
      uptime_in_seconds) uptime=$value ;;
      loading) loading=$value ;;
      role) role=$value ;;
      master_link_status) link=$value ;;
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
