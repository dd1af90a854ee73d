/**
 * Plans of machines on EKS against the real Karpenter and the real scheduler: every stack's pools and pods, as the
 * program makes them, all stacks at once. AWS and the machines are played.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EKS_VERSIONS } from "../../../components/eks/aws/versions";
import { poolObjectName } from "../../../platforms/eks/pools/pools";
import { holdsInTime } from "../../../lib/polling";
import { applyOverrides } from "../../../stacks/config/sections/overrides";
import { parseConfig } from "../../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { readStackFile, stackNames } from "../../../stacks/config/sections/stack-file";
import { planStack } from "../../../stacks/plan/stack-plan";
import { deniedRequests, describeRequest, karpenterPolicies } from "../../support/aws/denied-requests";
import { karpenterRequests } from "../../support/aws/karpenter-requests";
import type { RecordedCall } from "../../support/aws/recorded-calls";
import { AwsRecorder } from "../../support/kubernetes/aws-recorder";
import { type EksObjects, type EksStack, daemons, eksObjects } from "../../support/kubernetes/eks-objects";
import type { Claim, Settled } from "../../support/kubernetes/karpenter";
import { HAS_KARPENTER, Karpenter, KARPENTER_SKIPPED } from "../../support/kubernetes/karpenter";

const MACHINE = { cores: 2, memoryBytes: 16 * 2 ** 30 };
const CLUSTER = "karpenter-test";
/** Smaller where a stack is too large for this machine: fewer shards, and with them fewer load generators. */
const SMALLER: Readonly<Record<string, readonly string[]>> = { billion: ["deployments.billion.primaries=8"] };
/** Seconds without another machine after which no more is expected. The load runs for the first part of them. */
const QUIET_SECONDS = 75;
const LOADED_SECONDS = 30;
/** Longest time in which empty machines of clients leave. */
const LEAVING_SECONDS = 150;
const DAEMONS = `${CLUSTER}-daemons`;

const configOf = (name: string): StackConfig => {
  const own = [`platform.clusterName=${CLUSTER}`, ...(SMALLER[name] ?? [])];
  return parseConfig(`stack ${name}`, applyOverrides(readStackFile(STACKS_DIRECTORY, name), own), MACHINE);
};
const isEks = (config: StackConfig): config is EksStack => config.platform.type === "eks";
const stacks = stackNames(STACKS_DIRECTORY)
  .filter((name) => parseConfig(name, readStackFile(STACKS_DIRECTORY, name), MACHINE).platform.type === "eks")
  .flatMap((name) => {
    const config = configOf(name);
    return isEks(config) ? [{ name, namespace: `${CLUSTER}-${name}`, config }] : [];
  });

function counted(machines: readonly (readonly [pool: string, type: string, zone: string, count: number])[]): string[] {
  const found = new Map<string, number>();
  for (const [pool, type, zone, count] of machines) {
    const key = `${pool} ${type} ${zone}`;
    found.set(key, (found.get(key) ?? 0) + count);
  }
  return [...found].map(([key, count]) => `${key}: ${count}`).sort();
}

const names = (machines: readonly { readonly name: string }[]): string[] => machines.map(({ name }) => name).sort();

describe.skipIf(!HAS_KARPENTER)(`Karpenter${KARPENTER_SKIPPED}`, () => {
  let karpenter: Karpenter;
  const objects = new Map<string, EksObjects>();
  let settled: Settled = { seconds: 0, machines: [], unplaced: {} };
  let later: readonly Claim[] = [];
  let unloaded: readonly Claim[] = [];
  let calls: readonly RecordedCall[] = [];

  const of = <T extends { readonly pool: string }>(stack: string, machines: readonly T[]): T[] =>
    machines.filter(({ pool }) => pool.startsWith(`${stack}-`));
  const isClient = ({ pool }: Claim): boolean => pool.endsWith(`-${poolObjectName("clients")}`);

  beforeAll(async () => {
    for (const { name, namespace, config } of stacks) objects.set(name, await eksObjects(name, namespace, config));
    karpenter = await Karpenter.start(CLUSTER, EKS_VERSIONS.machineImage);
    const recorder = await AwsRecorder.start();
    const all = [...objects.values()];
    const namespaces = [DAEMONS, ...stacks.map(({ namespace }) => namespace)];
    await karpenter.apply(namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
    await karpenter.apply([daemons(DAEMONS), ...all.flatMap(({ pools }) => pools)]);
    await karpenter.apply(all.flatMap(({ servers, load }) => [...servers, ...load]));
    settled = await karpenter.settle();
    const start = Date.now();
    await karpenter.apply(all.flatMap(({ pools }) => pools.map(withAnotherTag)));
    await sleep(LOADED_SECONDS * 1000);
    later = await karpenter.claims();
    for (const { namespace } of stacks)
      await karpenter.kubectl(["delete", "jobs", "--all", "--wait=false", "-n", namespace]);
    await holdsInTime(async () => (unloaded = await karpenter.claims()).every((each) => !isClient(each)), {
      timeoutMs: LEAVING_SECONDS * 1000,
      intervalMs: 2000,
    });
    await sleep(Math.max(0, QUIET_SECONDS * 1000 - (Date.now() - start)));
    unloaded = await karpenter.claims();
    calls = await recorder.calls();
  }, 1_000_000);

  afterAll(async () => {
    const namespaces = [DAEMONS, ...stacks.map(({ namespace }) => namespace)];
    await karpenter.kubectl(["delete", "namespace", "--ignore-not-found", "--wait=false", ...namespaces]);
    await karpenter.stop();
    await karpenter.kubectl(["wait", "--for=delete", "--timeout=100s", ...namespaces.map((name) => `ns/${name}`)]);
  }, 180_000);

  it("ask AWS for nothing that the controller's policies deny", async () => {
    expect(new Set(calls.map(({ operation }) => operation))).toContain("TerminateInstances");
    const denied = await deniedRequests(karpenterRequests(calls), karpenterPolicies(CLUSTER), `${CLUSTER}-karpenter`);
    expect(denied.map(describeRequest)).toEqual([]);
  }, 60_000);

  describe.each(stacks)("and the stack $name", ({ name, namespace, config }) => {
    it("start the machines of the plan, and put every pod on one", () => {
      const { machines, unplaced } = settled;
      expect(Object.entries(unplaced).filter(([pod]) => pod.startsWith(`${namespace}/`))).toEqual([]);
      const planned = (planStack(name, config).eks?.machines ?? []).flatMap(({ pool, type, zone, count }) =>
        pool === "system" ? [] : [[poolObjectName(pool), type, zone, count] as const],
      );
      const started = of(name, machines).map(
        ({ pool, type, zone }) => [pool.slice(name.length + 1), type, zone, 1] as const,
      );
      expect(counted(started)).toEqual(counted(planned));
    });

    it("start none and drain none when the tags of all machines change", () => {
      const started = of(name, settled.machines);
      expect(names(of(name, later))).toEqual(names(started));
      expect(of(name, later).filter(({ drifted }) => !drifted)).toEqual([]);
    });

    it("keep the servers' machines when the load generators' leave, and start none in a minute", () => {
      const servers = of(name, later).filter((each) => !isClient(each));
      expect(names(of(name, unloaded))).toEqual(names(servers));
    });
  });
});

/** As an `up` with another tag changes a class. Pools stay as they are. */
function withAnotherTag(object: EksObjects["pools"][number]): EksObjects["pools"][number] {
  const { spec } = object as unknown as { readonly spec: { readonly tags?: object } };
  return object.kind === "EC2NodeClass"
    ? { ...object, spec: { ...spec, tags: { ...spec.tags, changed: "yes" } } }
    : object;
}
