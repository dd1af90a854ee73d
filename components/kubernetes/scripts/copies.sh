# shellcheck shell=sh disable=SC2034
# Functions that compare copies of a data set: the copy on the disk of a server that is about to start, and the copies of running
# servers. Sourced after node.sh. CONFIG is the server's configuration file.

# setting NAME DEFAULT: prints the value of a directive. If CONFIG has the directive several times, the last line counts.
setting() {
  value=$(sed -n "s/^$1  *//p" "$CONFIG" | tail -n 1)
  echo "${value:-$2}"
}

# seconds_since FILE: prints the age of a file in seconds.
seconds_since() { echo $(($(date +%s) - $(date -r "$1" +%s))); }

# own_copy: describes the data on this server's disk in variables.
#   disk             the file that this server will load: aof (an append-only file), rdb (a snapshot) or none
#   seen_at          the present time, by `now`
#   age              age of that file at `seen_at`, seconds
#   durable          yes if no acknowledged write can be missing from it
#   history, offset  replication ID and offset of the file; empty and -1 if they are unknown
#   last             replication ID that this server had when it last ran (written by ready-replication.sh)
own_copy() {
  seen_at=$(now)
  disk=none age=0 durable=no history='' offset=-1 last=$(cat "$HISTORY" 2>/dev/null)
  directory=$(setting dir .)
  snapshot=$directory/$(setting dbfilename dump.rdb)
  if [ "$(setting appendonly no)" = yes ]; then
    # A server with an append-only file ignores snapshots.
    files=$directory/$(setting appenddirname appendonlydir)
    # shellcheck disable=SC2012
    newest=$(ls -t "$files" 2>/dev/null | head -n 1)
    [ -n "$newest" ] && ! without_data "$files" || return 0
    disk=aof age=$(seconds_since "$files/$newest")
    [ "$(setting appendfsync everysec)" != always ] || durable=yes
    # A snapshot that is at least as new as the append-only file was saved when the server stopped in order. It has all writes of
    # the append-only file, so its replication ID and offset are valid for both.
    { [ -s "$snapshot" ] && [ ! "$files/$newest" -nt "$snapshot" ]; } || return 0
  elif [ -s "$snapshot" ]; then
    disk=rdb age=$(seconds_since "$snapshot")
  else
    return 0
  fi
  # place prints neither if the snapshot does not have these fields.
  # shellcheck disable=SC2046
  set -- $(place "$snapshot")
  history=${2-} offset=${3:--1}
}

# without_data DIRECTORY: whether the append-only file in this directory has no commands and its base has no keys. A server creates
# such a file when it starts, before it has copied anything from its primary.
without_data() {
  for file in "$1"/*.aof; do
    [ ! -s "$file" ] || return 1
  done
  for file in "$1"/*.base.rdb; do
    [ ! -s "$file" ] || place "$file" | grep -q '^empty' || return 1
  done
}

# place SNAPSHOT: prints `keys` or `empty`, then the replication ID and the offset of the snapshot if it has them. A snapshot begins with
# nine bytes of magic and version. Fields of text follow (the byte 250, a name, a value).
place() {
  od -An -v -tu1 -N 1024 "$1" | awk '
    # A number has one, two or four bytes, the lowest byte first. A longer number is stored as text.
    function text(   kind, low, left, weight, value) {
      kind = int(byte[at] / 64)
      low = byte[at++] % 64
      if (kind == 3 && low <= 2) {
        weight = 1
        for (left = low == 2 ? 4 : low + 1; left > 0; left--) {
          value += byte[at++] * weight
          weight *= 256
        }
        return sprintf("%.0f", value)
      }
      if (kind > 1) { at = -1; return "" }
      left = kind == 0 ? low : low * 256 + byte[at++]
      for (value = ""; left > 0; left--) value = value sprintf("%c", byte[at++])
      return value
    }
    { for (i = 1; i <= NF; i++) byte[count++] = $i }
    END {
      for (at = 9; at in byte && byte[at] == 250;) {
        at++
        name = text()
        field[name] = text()
      }
      # The byte after the fields: 255 is the end of the file; any other byte begins functions or keys.
      print byte[at] == 255 ? "empty" : "keys", field["repl-id"], field["repl-offset"]
    }'
}

# ask HOST [COMMAND]: asks a server about its copy, and sets variables from its answer. COMMAND is sent too; answer has the whole reply.
#   role      master or slave; empty if the server does not answer
#   since     seconds since the server lost its primary; -1 if it has had no primary since it started
#   followed  host of the replica's primary
#   lineage   replication ID of the server's copy
#   parent    replication ID that the copy had before
ask() {
  role='' loading=0 link='' since=-1 syncing=0 applied=0 position=-1 lineage='' parent='' keys=no followed='' replicas=0
  answer=$(printf 'INFO persistence replication keyspace\n%s\n' "${2-}" | tell "$1" 2)
  while IFS=: read -r name value; do
    value=${value%"$CARRIAGE_RETURN"}
    case $name in
      loading) loading=$value ;;
      role) role=$value ;;
      master_host) followed=${value%.} ;;
      connected_slaves) replicas=$value ;;
      master_link_status) link=$value ;;
      master_link_down_since_seconds) since=$value ;;
      master_sync_in_progress) syncing=$value ;;
      slave_repl_offset) applied=$value ;;
      master_repl_offset) position=$value ;;
      master_replid) lineage=$value ;;
      master_replid2) parent=$value ;;
      db[0-9]*) keys=yes ;;
    esac
  done <<ANSWER
$answer
ANSWER
  [ "$link" != up ] || since=0
}

# has_data: whether the server that was asked has a copy at all. A replica that has not synchronized yet has applied no writes.
has_data() { [ "$keys" = yes ] || [ "$applied" -gt 1 ]; }

# newer: call it after own_copy and ask. It tells whether the server that was asked has all data of this server's disk, and more.
#   The disk is empty: any copy is newer.
#   Both copies have the same replication ID: the higher offset is newer.
#   This server noted the other server's replication ID after it wrote its snapshot: the other copy continues the snapshot.
#   Otherwise: the other copy is newer if the other server was linked to its primary when this disk was written, because it then had
#   all writes. A server that has only loaded its own disk since it started does not count, because the age of its copy is unknown.
newer() {
  has_data || return 1
  [ "$disk" != none ] || return 0
  if [ -n "$history" ] && [ "$lineage" = "$history" ]; then
    [ "$position" -gt "$offset" ]
    return
  fi
  if [ "$disk" = rdb ] && [ -n "$last" ] && [ "$lineage" = "$last" ] && [ "$HISTORY" -nt "$snapshot" ]; then return 0; fi
  # since and age are rounded to seconds, so a difference of two seconds is tolerated.
  [ "$since" -ge 0 ] && [ "$since" -le $((age + $(now) - seen_at + 2)) ]
}
