/** What a machine does before its kubelet starts: the kernel settings that Valkey wants, interrupts, file descriptors. Pure. */
import { stringify } from "yaml";
import type { Tuning } from "../../../platforms/eks/machines";
import { reservedCpus } from "../../../platforms/eks/machines";

/** Connections that may wait to be accepted, on the machine itself; a pod's own network starts with the kernel's 4096. */
const SOMAXCONN = 65_535;

/** File descriptors of every container, as many as S4 gives its servers. */
export const FILE_DESCRIPTORS = 1_048_544;

const BOUNDARY = "valkey-measured";

/**
 * User data of an AL2023 machine: a MIME document of a shell script, which cloud-init runs before the kubelet starts,
 * and a NodeConfig, which Karpenter merges with its own.
 *
 * Transparent huge pages off and memory overcommitted, because a fork for a snapshot otherwise copies 2 MiB for
 * every byte written or is refused; both are the whole machine's, and files keep them over a restart. No pod is
 * privileged for any of it.
 */
export function userDataOf(tuning: Tuning): string {
  const parts = [
    part('text/x-shellscript; charset="us-ascii"', kernelScript(tuning)),
    part("application/node.eks.aws", stringify(nodeConfigOf(tuning))),
  ];
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${BOUNDARY}"\n\n${parts.join("")}--${BOUNDARY}--\n`;
}

function part(type: string, body: string): string {
  return `--${BOUNDARY}\nContent-Type: ${type}\n\n${body}\n`;
}

function kernelScript({ interruptCpus }: Tuning): string {
  return `#!/bin/bash
set -euo pipefail
cat >/etc/sysctl.d/90-valkey.conf <<'END'
vm.overcommit_memory = 1
net.core.somaxconn = ${SOMAXCONN}
END
sysctl --quiet --load=/etc/sysctl.d/90-valkey.conf
cat >/etc/tmpfiles.d/90-valkey.conf <<'END'
w /sys/kernel/mm/transparent_hugepage/enabled - - - - never
w /sys/kernel/mm/transparent_hugepage/defrag - - - - never
END
systemd-tmpfiles --create /etc/tmpfiles.d/90-valkey.conf
${interruptCpus > 0 ? interruptScript(interruptCpus) : ""}`;
}

/** As S4 does it: as many queues as CPUs, one interrupt each, and nothing that moves them; as a unit, so that a restart does it again. CPU 0, then from the last one down. */
function interruptScript(cpus: number): string {
  return `cat >/usr/local/sbin/valkey-interrupts <<'END'
#!/bin/bash
set -euo pipefail
interface=$(ip -o -4 route show default | awk '{print $5; exit}')
ethtool -L "$interface" combined ${cpus} || [ "$(ethtool -l "$interface" | awk '/^Combined:/ {n = $2} END {print n}')" = ${cpus} ]
systemctl disable --now irqbalance.service 2>/dev/null || true
last=$(($(nproc --all) - 1))
turn=0
for irq in $(awk -v name="$interface" 'index($0, name) {sub(":", "", $1); print $1}' /proc/interrupts); do
  [ "$turn" = 0 ] && cpu=0 || cpu=$((last - turn + 1))
  echo "$cpu" >"/proc/irq/$irq/smp_affinity_list"
  turn=$(((turn + 1) % ${cpus}))
done
END
chmod 755 /usr/local/sbin/valkey-interrupts
cat >/etc/systemd/system/valkey-interrupts.service <<'END'
[Unit]
After=network-online.target
Wants=network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/valkey-interrupts
[Install]
WantedBy=multi-user.target
END
systemctl enable --now valkey-interrupts.service
`;
}

/** The part of a machine's NodeConfig that is ours; taints, labels and the cluster are Karpenter's. */
function nodeConfigOf(tuning: Tuning): object {
  const reserved = reservedCpus(tuning);
  return {
    apiVersion: "node.eks.aws/v1alpha1",
    kind: "NodeConfig",
    spec: {
      containerd: {
        baseRuntimeSpec: {
          process: { rlimits: [{ type: "RLIMIT_NOFILE", soft: FILE_DESCRIPTORS, hard: FILE_DESCRIPTORS }] },
        },
      },
      // A kubelet that is given reserved CPUs does not start while cgroups are reserved as well, and the image's own set-up names two.
      ...(reserved > 0 && {
        kubelet: {
          config: {
            cpuManagerPolicy: "static",
            reservedSystemCPUs: "0",
            kubeReservedCgroup: "",
            systemReservedCgroup: "",
          },
        },
      }),
    },
  };
}
