# What a container sees of its machine and of its own limits: a line for each setting that can be read.
# POSIX shell and cat: the shell's own `read` takes a byte at a time, of which files in /proc/sys give the first only.
# /proc/interrupts is masked in containers, the files of /sys/kernel/irq are not.
say() { value=$(cat "$2" 2>/dev/null) && echo "$1 $value"; }
say huge-pages /sys/kernel/mm/transparent_hugepage/enabled
say overcommit /proc/sys/vm/overcommit_memory
say accept-queue /proc/sys/net/core/somaxconn
say machine-cpus /sys/devices/system/cpu/present
# The limits of the server itself, and the CPUs of the container: a server may narrow its own.
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
