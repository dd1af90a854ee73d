/**
 * What a runner's container does, as POSIX shell: the server's image has a shell and Valkey's own tools, and nothing else is
 * sure. Runners meet and report through the server under test, the one thing all of them reach: by keys of their own, with
 * commands that none of the tests send, so that none is counted. Container logs hold a copy for people.
 */

/** Words of the tool's command line that each runner fills in for itself. */
export const PLACEHOLDERS = {
  /** Its part of the requests. */
  requests: "@REQUESTS@",
  /** Its part of the rate. */
  rate: "@RATE@",
  /** The run's seed and those after it. */
  seed: "@SEED@",
  password: "@PASSWORD@",
  /** User and password, as memtier takes them: filled in by the companion. */
  credentials: "@CREDENTIALS@",
  /** Between two runs of the tool: the warm-up and the measured one. */
  then: "@THEN@",
} as const;

/** Marks lines of the record that are the runner's and not the tool's. */
export const RECORD_LINE_PREFIX = "@@";

/** Keys, by what they are for. */
export interface RunnerKeys {
  /** As long as there are runners that have arrived at a phase. */
  readonly arrived: (phase: number) => string;
  /** A list with an element per runner, put in place when the phase is to begin. */
  readonly go: (phase: number) => string;
  /** The same before it is put in place: a rename is one step and no test's. */
  readonly ready: (phase: number) => string;
  /** What the runner has to report. */
  readonly record: (runner: number) => string;
}

/** @param prefix of every key, with a hash tag where there are slots: all must be on one node */
export function runnerKeys(prefix: string): RunnerKeys {
  return {
    arrived: (phase) => `${prefix}:arrived:${phase}`,
    go: (phase) => `${prefix}:go:${phase}`,
    ready: (phase) => `${prefix}:ready:${phase}`,
    record: (runner) => `${prefix}:record:${runner}`,
  };
}

/**
 * Environment: RECORD (a file to be), HOST, PORT, KEYS (their prefix), RUNNERS, PHASES, REQUESTS, RATE, SEEDS (one per phase), PATIENCE (seconds), TLS (options),
 * TOOL_USER and TOOL_PASSWORD where there is a user, EXCHANGE (a directory) where a companion runs the tool, JOB_COMPLETION_INDEX. Arguments:
 * the tool's, phases apart by `then`.
 */
export const RUNNER_SCRIPT = `set -u
record=$RECORD
index=$JOB_COMPLETION_INDEX
export VALKEYCLI_AUTH="\${TOOL_PASSWORD:-}" REDISCLI_AUTH="\${TOOL_PASSWORD:-}"
[ -n "$VALKEYCLI_AUTH" ] || unset VALKEYCLI_AUTH REDISCLI_AUTH
cli() { valkey-cli -h "$HOST" -p "$PORT" \${TOOL_USER:+--user "$TOOL_USER"} $TLS "$@"; }
fail() { echo "$*" >&2; exit 1; }
say() { echo "${RECORD_LINE_PREFIX} $*" >> "$record"; }
part() { echo $(( $1 / RUNNERS + (index < $1 % RUNNERS) )); }
arrive() {
  there=$(cli APPEND "$KEYS:arrived:$1" x) || fail "$there"
  [ "$there" -ge 1 ] 2> /dev/null || fail "valkey-cli: $there"
}
await() { [ -n "$(cli BLPOP "$KEYS:go:$1" "$PATIENCE")" ] || fail "gave up waiting for phase $1"; }
mark() {
  up=; line=
  read -r up rest < /proc/uptime; say "uptime $up"
  read -r line < /proc/stat; say "$line"
  say "times"
  if [ -n "$EXCHANGE" ]; then cat "$EXCHANGE/times"; else times; fi >> "$record"
}
run() {
  wanted=$1; shift; current=1; left=$#
  while [ "$left" -gt 0 ]; do
    word=$1; shift; left=$((left - 1))
    if [ "$word" = ${PLACEHOLDERS.then} ]; then current=$((current + 1)); continue; fi
    [ "$current" = "$wanted" ] || continue
    case $word in
      ${PLACEHOLDERS.requests}) word=$(part "$REQUESTS") ;;
      ${PLACEHOLDERS.rate}) word=$(part "$RATE") ;;
      ${PLACEHOLDERS.seed}) word=$(( $(echo "$SEEDS" | cut -d ' ' -f "$wanted") + index )) ;;
      ${PLACEHOLDERS.password}) word=$TOOL_PASSWORD ;;
    esac
    set -- "$@" "$word"
  done
  if [ -z "$EXCHANGE" ]; then valkey-benchmark "$@" >> "$record" 2>&1; return; fi
  printf '%s\\n' "$@" > "$EXCHANGE/words"
  echo run > "$EXCHANGE/ask"
  read -r code < "$EXCHANGE/answer" || code=1
  cat "$EXCHANGE/out" >> "$record"
  return "$code"
}
if [ -z "$EXCHANGE" ]; then say "cores $(nproc)"; else
  mkfifo "$EXCHANGE/ask" "$EXCHANGE/answer" || fail "no pipes in $EXCHANGE"
  read -r ready < "$EXCHANGE/answer"
  say "cores $(cat "$EXCHANGE/cores")"
fi
phase=1
while [ "$phase" -le "$PHASES" ]; do
  arrive "$phase"; await "$phase"
  say "phase $phase"; mark
  run "$phase" "$@"; code=$?
  echo >> "$record"; say "exit $code"; mark
  phase=$((phase + 1))
done
[ -z "$EXCHANGE" ] || echo end > "$EXCHANGE/ask"
say "end"
cat "$record"
cli -x SETRANGE "$KEYS:record:$index" 0 < "$record" > /dev/null || fail "the record could not be handed over"
arrive "$phase"
`;
