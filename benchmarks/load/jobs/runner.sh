# Script of a runner's container. It waits for the other runners, runs the load generator once per phase, and writes a
# record. It is for a POSIX shell, because the servers' image may contain only a shell and Valkey's programs.
#
# Environment:
#   RECORD                    file to write the record to
#   HOST, PORT, TLS_OPTIONS   server for valkey-cli, and valkey-cli's options for TLS
#   TOOL_USER, TOOL_PASSWORD  user that is created for the run; unset if the servers require no password
#   KEY_PREFIX                prefix of the keys with which runners wait for each other (runner-script.ts)
#   RUNNERS                   number of runners
#   JOB_COMPLETION_INDEX      number of this runner, from 0; set by Kubernetes
#   PHASES                    number of phases: 2 with a warm-up, else 1 (the measurement)
#   REQUESTS, RATE            requests and requests per second of all runners together
#   SEEDS                     seeds of the first runner, one for each phase
#   TIMEOUT_SECONDS           longest wait for the other runners
#   EXCHANGE                  directory shared with the sidecar that runs the load generator (sidecar.sh);
#                             empty: valkey-benchmark runs in this container
# Arguments: the load generator's arguments for all phases, with placeholders (runner-script.ts); @THEN@ separates phases
set -u
record=$RECORD
index=$JOB_COMPLETION_INDEX
# valkey-cli takes its password from the environment. It would also send an empty password.
export VALKEYCLI_AUTH="${TOOL_PASSWORD:-}" REDISCLI_AUTH="${TOOL_PASSWORD:-}"
[ -n "$VALKEYCLI_AUTH" ] || unset VALKEYCLI_AUTH REDISCLI_AUTH

cli() { valkey-cli -h "$HOST" -p "$PORT" ${TOOL_USER:+--user "$TOOL_USER"} $TLS_OPTIONS "$@"; }
fail() { echo "$*" >&2; exit 1; }
# Lines that the runner itself adds to the record start with @@.
record_line() { echo "@@ $*" >> "$record"; }
# This runner's share of a number. If the number is not divisible, the first runners get one more.
share() { echo $(( $1 / RUNNERS + (index < $1 % RUNNERS) )); }

arrive() {
  arrived=$(cli APPEND "$KEY_PREFIX:arrived:$1" x) || fail "$arrived"
  [ "$arrived" -ge 1 ] 2> /dev/null || fail "valkey-cli: $arrived"
}

await_start() {
  [ -n "$(cli BLPOP "$KEY_PREFIX:go:$1" "$TIMEOUT_SECONDS")" ] || fail "timed out waiting for the start of phase $1"
}

# Records the clock, and the CPU time of the machine and of the load generator so far.
record_counters() {
  uptime=; cpu=
  read -r uptime rest < /proc/uptime; record_line "uptime $uptime"
  read -r cpu < /proc/stat; record_line "$cpu"
  record_line "times"
  if [ -n "$EXCHANGE" ]; then cat "$EXCHANGE/times"; else times; fi >> "$record"
}

# run_phase PHASE ARGUMENTS…: selects the phase's arguments, replaces the placeholders and runs the load generator.
run_phase() {
  wanted=$1; shift; current=1; left=$#
  while [ "$left" -gt 0 ]; do
    word=$1; shift; left=$((left - 1))
    if [ "$word" = @THEN@ ]; then current=$((current + 1)); continue; fi
    [ "$current" = "$wanted" ] || continue
    case $word in
      @REQUESTS@) word=$(share "$REQUESTS") ;;
      @RATE@) word=$(share "$RATE") ;;
      @SEED@) word=$(( $(echo "$SEEDS" | cut -d ' ' -f "$wanted") + index )) ;;
      @PASSWORD@) word=$TOOL_PASSWORD ;;
    esac
    set -- "$@" "$word"
  done
  if [ -z "$EXCHANGE" ]; then valkey-benchmark "$@" >> "$record" 2>&1; return; fi
  printf '%s\n' "$@" > "$EXCHANGE/words"
  echo run > "$EXCHANGE/ask"
  read -r code < "$EXCHANGE/answer" || code=1
  cat "$EXCHANGE/out" >> "$record"
  return "$code"
}

if [ -z "$EXCHANGE" ]; then record_line "cores $(nproc)"; else
  mkfifo "$EXCHANGE/ask" "$EXCHANGE/answer" || fail "cannot make named pipes in $EXCHANGE"
  read -r ready < "$EXCHANGE/answer"
  record_line "cores $(cat "$EXCHANGE/cores")"
fi
phase=1
while [ "$phase" -le "$PHASES" ]; do
  arrive "$phase"; await_start "$phase"
  record_line "phase $phase"; record_counters
  run_phase "$phase" "$@"; code=$?
  echo >> "$record"; record_line "exit $code"; record_counters
  phase=$((phase + 1))
done
[ -z "$EXCHANGE" ] || echo end > "$EXCHANGE/ask"
record_line "end"
# The container's log contains a copy of the record, so that people can read it.
cat "$record"
cli -x SETRANGE "$KEY_PREFIX:record:$index" 0 < "$record" > /dev/null || fail "cannot write the record to the server"
arrive "$phase"
