#!/bin/bash
# valkey-interrupts CPUS: sets the number of queues of the network card to CPUS. Each queue has one interrupt. The first
# is pinned to CPU 0, the others to the last CPUs of the machine, in descending order. irqbalance is turned off, so
# nothing moves them afterwards.
set -euo pipefail
cpus=${1:?number of CPUs}
interface=$(ip -o -4 route show default | awk '{print $5; exit}')
ethtool -L "$interface" combined "$cpus" || [ "$(ethtool -l "$interface" | awk '/^Combined:/ {n = $2} END {print n}')" = "$cpus" ]
systemctl disable --now irqbalance.service 2>/dev/null || true
last=$(($(nproc --all) - 1))
turn=0
mapfile -t irqs < <(awk -v name="$interface" 'index($0, name) {sub(":", "", $1); print $1}' /proc/interrupts)
# Without a match the loop would pin no interrupt, so the script fails.
[ "${#irqs[@]}" -gt 0 ]
for irq in "${irqs[@]}"; do
  [ "$turn" = 0 ] && cpu=0 || cpu=$((last - turn + 1))
  echo "$cpu" >"/proc/irq/$irq/smp_affinity_list"
  turn=$(((turn + 1) % cpus))
done
