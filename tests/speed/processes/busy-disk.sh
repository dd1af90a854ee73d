#!/bin/sh
# busy-disk.sh FILE: keeps the disk of FILE busy with writes and fsync
while :; do
  dd if=/dev/zero of="$1" bs=1M count=256 conv=fsync 2>/dev/null
done
