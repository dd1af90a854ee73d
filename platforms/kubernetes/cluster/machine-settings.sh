# Prints the settings of the machine and the limits of the container, as the container sees them: one line for each
# setting that can be read. It needs only a POSIX shell and cat. It does not use the shell's own `read` for files in
# /proc/sys: `read` reads one byte at a time, and these files then return only their first byte. /proc/interrupts is
# masked in containers; the files in /sys/kernel/irq are not.
say() { value=$(cat "$2" 2>/dev/null) && echo "$1 $value"; }
say huge-pages /sys/kernel/mm/transparent_hugepage/enabled
say overcommit /proc/sys/vm/overcommit_memory
say accept-queue /proc/sys/net/core/somaxconn
say machine-cpus /sys/devices/system/cpu/present
# The open-file limit is read from the server's process. The CPUs are read from this shell, because a server may restrict its own.
while read -r one two three soft rest; do
  [ "$one $two $three" = "Max open files" ] && echo "open-files $soft"
done </proc/1/limits
while read -r key value; do
  [ "$key" = Cpus_allowed_list: ] && echo "cpus $value"
done </proc/self/status
for irq in /sys/kernel/irq/*; do
  read -r name 2>/dev/null <"$irq/actions" || continue
  case $name in
    *-Tx-Rx-*) read -r cpus <"/proc/irq/${irq##*/}/smp_affinity_list" && echo "interrupt $name $cpus" ;;
  esac
done
[ -d /sys/kernel/irq ] && echo "interrupts-read"
exit 0
