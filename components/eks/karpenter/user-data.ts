/** User data of a machine. It sets kernel settings, interrupts and file descriptors before the kubelet starts. Pure. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Tuning } from "../../../platforms/eks/pools/tuning";
import { reservedCpus } from "../../../platforms/eks/pools/tuning";
import { FILE_DESCRIPTORS } from "../../../platforms/eks/pools/tuning";

const BOUNDARY = "valkey-measured";
const INTERRUPTS = "/usr/local/sbin/valkey-interrupts";
const UNIT = "valkey-interrupts.service";

const read = (file: string): string => readFileSync(join(__dirname, "user-data", file), "utf8");

/**
 * User data of an AL2023 machine: a MIME document with a shell script and a NodeConfig. cloud-init runs the script
 * before the kubelet starts. Karpenter merges the NodeConfig with its own.
 *
 * Transparent huge pages are off, because with huge pages, every byte that is written after the fork for a snapshot
 * copies a page of 2 MiB. Memory is overcommitted, because without overcommitment the fork can fail. Both are settings
 * of the machine, so no pod needs privileges for them. somaxconn is not set: each pod has its own value, which starts
 * at the kernel's default of 4,096, whatever the machine's value is.
 */
export function userDataOf(tuning: Tuning): string {
  const interrupts = tuning.interruptCpus > 0 ? interruptScript(tuning.interruptCpus) : "";
  const script = `${read("kernel-settings.sh")}${interrupts}`;
  const parts = [
    part('text/x-shellscript; charset="us-ascii"', script),
    part("application/node.eks.aws", stringify(nodeConfigOf(tuning))),
  ];
  const head = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${BOUNDARY}"\n\n`;
  return `${head}${parts.join("")}--${BOUNDARY}--\n`;
}

function part(type: string, body: string): string {
  return `--${BOUNDARY}\nContent-Type: ${type}\n\n${body}\n`;
}

/**
 * Shell commands that install a systemd unit. At every start of the machine, the unit pins the interrupts of the
 * network card to CPUs.
 */
function interruptScript(cpus: number): string {
  return [
    writeFile(INTERRUPTS, read("interrupts.sh")),
    `chmod 755 ${INTERRUPTS}\n`,
    writeFile(`/etc/systemd/system/${UNIT}`, read(UNIT).replace("CPUS", String(cpus))),
    `systemctl enable --now ${UNIT}\n`,
  ].join("");
}

function writeFile(path: string, text: string): string {
  return `cat >${path} <<'END'\n${text}END\n`;
}

/** The project's part of a machine's NodeConfig. Karpenter adds taints, labels and the cluster. */
function nodeConfigOf(tuning: Tuning): object {
  const limit = { type: "RLIMIT_NOFILE", soft: FILE_DESCRIPTORS, hard: FILE_DESCRIPTORS };
  const spec = { containerd: { baseRuntimeSpec: { process: { rlimits: [limit] } } } };
  const config = {
    cpuManagerPolicy: "static",
    reservedSystemCPUs: "0",
    // The image's configuration names a cgroup in both options. With these names a kubelet with reserved CPUs does not
    // start, so the options are empty.
    kubeReservedCgroup: "",
    systemReservedCgroup: "",
  };
  return {
    apiVersion: "node.eks.aws/v1alpha1",
    kind: "NodeConfig",
    spec: reservedCpus(tuning) > 0 ? { ...spec, kubelet: { config } } : spec,
  };
}
