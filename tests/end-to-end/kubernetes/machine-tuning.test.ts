/** Machine settings in real pods: all machines of the local Kubernetes share one kernel. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { form } from "../../../valkey/formation/form";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { PodDeployment, PodDeploymentPlan } from "../../../platforms/kubernetes/deployment";
import { awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { BOOT_LABEL, MachineSettingsReader, runInPod } from "../../../platforms/kubernetes/cluster/machine-settings";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import { verify } from "../../../valkey/verification/verify";
import { applyServers, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, WHERE, openThrowAwayClient } from "../../support/kubernetes/throw-away";

const chosen = (text: string): string => /\[(\w+)\]/.exec(text)?.[1] ?? "";
const readLine = (path: string): string => readFileSync(path, "utf8").trim();

describe.skipIf(KUBECONFIG === undefined)(`machines under pods${WHERE}`, { timeout: 180_000 }, () => {
  const servers = testServers({ name: "tuned", shape: { primaries: 3, replicasPerPrimary: 0 } });
  let kubernetes: KubernetesClient;
  let here: ThrowAway;
  let plan: PodDeploymentPlan;
  const withPromise = (tuning: ExpectedTuning): Promise<PodDeployment> =>
    awaitPodDeployment(kubernetes, { ...plan, tuning }, { timeoutMs: 120_000 });

  beforeAll(async () => {
    kubernetes = await openThrowAwayClient();
    here = await ThrowAway.open();
    plan = await applyServers(here, servers);
    await form(await withPromise({ openFiles: 1 }), servers.shape);
  }, 180_000);
  afterAll(() => here.close());

  it("are seen from inside: the kernel's settings, the limits of the server, its CPUs and the machine's", async () => {
    const { nodes, tuning } = await withPromise({ openFiles: 1 });
    const [node] = nodes;
    if (node === undefined) throw new Error("there is no node");
    const settings = await tuning?.read(node);
    expect(settings).toMatchObject({
      hugePages: { known: true, value: chosen(readLine("/sys/kernel/mm/transparent_hugepage/enabled")) },
      overcommit: { known: true, value: readLine("/proc/sys/vm/overcommit_memory") },
      acceptQueue: { known: true, value: 4096 },
      machineCpus: { known: true },
      interrupts: { known: true },
      boot: { known: true, value: "ok" },
    });
    // valkey-server raises its own limit to its clients and 32 more, where it may.
    expect(settings?.openFiles).toMatchObject({ known: true });
    if (settings?.cpus.known !== true || !settings.machineCpus.known) throw new Error("the CPUs are unknown");
    expect(settings.cpus.value.length).toBeGreaterThan(0);
    expect(settings.cpus.value.length).toBeLessThanOrEqual(settings.machineCpus.value);
  });

  it("fail the verdict in the rows whose promise they do not keep, and in no other", async () => {
    const { verdict } = await verify(
      await withPromise({ openFiles: 1_000_000_000, acceptQueue: 65_535, interruptCpus: 2, ownCpus: 64 }),
    );
    const rows = new Map(verdict.assertions.map(({ id, pass, found }) => [id, { pass, found }]));
    expect(verdict.pass).toBe(false);
    expect(rows.get("boot-script")?.pass).toBe(true);
    expect(rows.get("huge-pages-off")?.pass).toBe(
      chosen(readLine("/sys/kernel/mm/transparent_hugepage/enabled")) === "never",
    );
    expect(rows.get("memory-overcommitted")?.pass).toBe(readLine("/proc/sys/vm/overcommit_memory") === "1");
    expect(rows.get("open-files")?.found).toMatch(/^tuned-0, tuned-1, tuned-2: may open \d+ files$/);
    expect(rows.get("accept-queue")?.found).toBe("tuned-0, tuned-1, tuned-2: net.core.somaxconn is 4096");
    expect(rows.get("interrupts-pinned")?.pass).toBe(false);
    expect(rows.get("own-cpus")?.found).toMatch(/^tuned-0, tuned-1, tuned-2: runs on CPUs /);
  });

  it("say that their boot script failed by a label of the Node", async () => {
    const { nodes, tuning } = await withPromise({ openFiles: 1 });
    const [node] = nodes;
    if (node === undefined) throw new Error("there is no node");
    const label = (value: string | null) =>
      kubernetes.core.patchNode({
        name: node.machine,
        body: [
          { op: value === null ? "remove" : "add", path: `/metadata/labels/${BOOT_LABEL.replace("/", "~1")}`, value },
        ],
      });
    await label("failed");
    try {
      expect(await tuning?.read(node)).toMatchObject({ boot: { known: true, value: "failed" } });
    } finally {
      await label(null);
    }
  });

  it("are asked once for each container, and once for each machine of load generators", async () => {
    const { nodes } = await withPromise({ openFiles: 1 });
    const reader = new MachineSettingsReader(kubernetes);
    const [first, second] = nodes.map(({ name, machine }) => ({
      namespace: here.namespace,
      pod: name,
      container: "valkey",
      machine,
    }));
    if (first === undefined || second === undefined) throw new Error("there are no two nodes");
    const asked = reader.read(first, "m");
    expect(reader.read(second, "m")).toBe(asked);
    expect(reader.read(second)).not.toBe(asked);
    await asked;
  });

  it("are unknown where the container cannot be asked, with the reason", async () => {
    const missing = { namespace: here.namespace, pod: "tuned-0", container: "none" };
    await expect(runInPod(kubernetes, missing, "true")).rejects.toThrow(
      /^a command in tuned-0 of namespace .*(none|400).*pods\/exec is needed/s,
    );
    const server = { ...missing, container: "valkey" };
    await expect(runInPod(kubernetes, server, "exit 3")).rejects.toThrow(/a command in tuned-0 of .*exit code 3/);
    expect(await runInPod(kubernetes, server, "echo yes")).toBe("yes\n");
  });
});
