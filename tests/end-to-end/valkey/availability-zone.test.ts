/** The zone that real servers tell clients. */
import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GlideClusterClient } from "@valkey/valkey-glide";
import { afterAll, describe, expect, it } from "vitest";
import type { Programs } from "../../../platforms/host/programs/programs";
import { handler } from "../../../operations/handlers/deployment/deployment-verification";
import { tellZones } from "../../../valkey/availability-zone";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { parseInfo } from "../../../valkey/topology/replies";
import { useSandboxes } from "../../support/valkey/hooks";
import {
  eventually,
  never,
  olderPrograms,
  realPrograms,
  withNode,
  ZONES,
  callNode,
  failing,
} from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 2 };
const READS = 1000;
const { open } = useSandboxes();
// A client of valkey-glide leaves the socket of its process behind.
afterAll(() => {
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith(`glide-socket-${process.pid}-`));
  for (const name of left) rmSync(join(tmpdir(), name));
});

async function formed(programs: Programs): Promise<Deployment> {
  return (await open(programs)).formedReplication("zoned", SHAPE.replicasPerPrimary);
}

const toldBy = (deployment: Deployment): Promise<(string | undefined)[]> =>
  Promise.all(
    deployment.nodes.map((_node, index) =>
      withNode(deployment, index, async (node) => parseInfo(await node.info("server")).get("availability_zone")),
    ),
  );

describe("the zone that servers tell clients", () => {
  it.for<[string, () => Promise<Programs | undefined>]>([
    ["the Valkey of commands", realPrograms],
    ["Valkey 8.1", olderPrograms],
  ])("is their machine's from the start, and judged, with %s", async ([what, find], { skip }) => {
    const programs = (await find()) ?? skip(`${what} cannot be had here`);
    const deployment = await formed(programs);
    expect(await toldBy(deployment)).toEqual(ZONES);
    expect(await failing(deployment)).toEqual([]);
    await callNode(deployment, 1, "CONFIG", "SET", "availability-zone", "");
    await callNode(deployment, 2, "CONFIG", "SET", "availability-zone", "elsewhere");
    expect(await failing(deployment)).toEqual([
      "zones-told: zoned-2: tells clients the zone elsewhere, but its machine is in c",
    ]);
    expect(await tellZones(deployment)).toEqual(["zoned-1", "zoned-2"]);
    expect(await tellZones(deployment)).toEqual([]);
    expect(await failing(deployment)).toEqual([]);
  });

  it("is told again when the deployment is verified by an update", async () => {
    const deployment = await formed(await realPrograms());
    await callNode(deployment, 0, "CONFIG", "SET", "availability-zone", "");
    const { name, mode, nodes, access, directives } = deployment;
    const target = {
      ...({ platform: "endpoints", name, mode, shape: SHAPE, zones: ZONES, nodes } as const),
      directives: Object.fromEntries(directives),
    };
    const inputs = { target, password: access.password ?? "", formationMs: null, revision: null, timeoutSeconds: 30 };
    await handler.create({ ...inputs, trigger: 0 }, { signal: never, report: () => undefined });
    expect(await toldBy(deployment)).toEqual(ZONES);
  });

  it("has a client with AZ affinity read in its own zone", async () => {
    const sandbox = await open();
    const shape = { primaries: 3, replicasPerPrimary: 2 };
    const deployment = await sandbox.formedCluster("near", shape.primaries, shape.replicasPerPrimary, {
      "cluster-node-timeout": 1000,
    });
    const reads = async (node: Connection): Promise<number> =>
      Number(/^cmdstat_get:calls=(\d+)/m.exec(await node.info("commandstats"))?.[1] ?? 0);
    const readsOfAll = (): Promise<number[]> =>
      Promise.all(deployment.nodes.map((_node, index) => withNode(deployment, index, reads)));
    for (const clientAz of ZONES) {
      const own = deployment.nodes.flatMap(({ zone }, index) => (zone === clientAz ? [index] : []));
      expect(own).toHaveLength(3);
      // A client that a busy machine connects slowly does not know all zones for a minute.
      await eventually("a client reads in its own zone", async () => {
        const client = await GlideClusterClient.createClient({
          addresses: deployment.nodes.map(({ endpoint }) => endpoint),
          credentials: { password: deployment.access.password ?? "" },
          readFrom: "AZAffinityReplicasAndPrimary",
          clientAz,
          requestTimeout: 30_000,
        });
        try {
          const before = await readsOfAll();
          await Promise.all(Array.from({ length: READS }, (_, index) => client.get(`key:${index}`)));
          const after = await readsOfAll();
          const near = own.reduce((sum, index) => sum + (after[index] ?? 0) - (before[index] ?? 0), 0);
          return near >= 0.99 * READS;
        } finally {
          client.close();
        }
      });
    }
  });
});
