/** Changes of real servers that fail half-way or are taken back, by the provider as the engine calls it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler as scaleIn } from "../../../operations/handlers/deployment/scale-in";
import { type AnyHandler, loadHandler, resourceType, type ResourceName } from "../../../operations/provider/kinds";
import { ValkeyProvider } from "../../../operations/provider/valkey-provider";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { FakeApiServer } from "../../support/kubernetes/fake-api-server";
import { Sandbox, withNode, callNode } from "../../support/valkey/real";

type State = Readonly<Record<string, unknown>>;

const NEXT = "another password, as long";
/** Servers without pods have no other preparation. */
const load = (name: ResourceName): Promise<AnyHandler> =>
  name === "Preparation" ? Promise.resolve(scaleIn as unknown as AnyHandler) : loadHandler(name);
const provider = new ValkeyProvider("1.2.3", load, () => undefined);
const urnOf = (name: ResourceName): string => `urn:pulumi:stack::project::${resourceType(name)}::orders`;
const changes = async (name: ResourceName, state: State, inputs: State): Promise<boolean | undefined> =>
  (await provider.diff("orders", urnOf(name), state, inputs)).changes;
const update = async (name: ResourceName, state: State, inputs: State): Promise<State> =>
  (await provider.update("orders", urnOf(name), state, inputs)).outs as State;

/** @returns the state that the engine keeps */
async function failedUpdate(name: ResourceName, state: State, inputs: State): Promise<State> {
  const error: unknown = await update(name, state, inputs).catch((each: unknown) => each);
  return (error as { readonly properties?: State }).properties ?? state;
}

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await Sandbox.open();
});
afterEach(() => sandbox.close());

describe("a new password that not every server took, taken back", () => {
  let api: FakeApiServer;
  let deployment: Deployment;
  let target: KubernetesReference;
  beforeEach(async () => {
    const shape = { primaries: 1, replicasPerPrimary: 1 };
    deployment = await sandbox.formedReplication("orders", 1);
    api = await FakeApiServer.start();
    target = api.serve(deployment, shape);
  });
  afterEach(() => {
    api.stop();
  });

  it("is a change, after which servers refuse it", async () => {
    const password = deployment.access.password ?? "";
    const common = { target, users: {}, timeoutSeconds: 5 };
    const before = { ...common, password, overlapSeconds: 90 };
    // The second step fails on one server: both accept both passwords.
    await callNode(deployment, 1, "ACL", "SETUSER", "default", "-config|set");
    const state = await failedUpdate("Access", { ...before, changedAt: "", drift: [] }, { ...before, password: NEXT });
    await callNode(deployment, 1, "ACL", "SETUSER", "default", "+config|set");
    expect(await accepts(NEXT)).toEqual([true, true]);
    expect(await changes("Access", state, before)).toBe(true);
    const overlaps = (): string[] => [...api.objects.keys()].filter((path) => path.includes("/secrets/"));
    // Pods that start now need both passwords again.
    for (const path of overlaps()) api.objects.delete(path);
    const { changedAt, ...after } = await update("Access", state, before);
    expect(overlaps()).toHaveLength(1);
    expect(after).not.toHaveProperty("attempts");
    const retiring = { ...common, password, overlapSeconds: 0 };
    expect(await changes("Formation", { ...retiring, changedAt: "" }, { ...retiring, changedAt })).toBe(true);
    await update("Formation", { ...retiring, changedAt: "" }, { ...retiring, changedAt });
    expect(await accepts(NEXT)).toEqual([false, false]);
    expect(await accepts(password)).toEqual([true, true]);
    expect(overlaps()).toEqual([]);
  });

  async function accepts(password: string): Promise<boolean[]> {
    const attempts = await Promise.allSettled(
      deployment.nodes.map(async ({ name, endpoint }) => {
        (await connect(name, endpoint, { password })).disconnect();
      }),
    );
    return attempts.map(({ status }) => status === "fulfilled");
  }
});

describe("a smaller cluster whose pods were not removed, taken back", () => {
  it("has the nodes that were emptied join again", async () => {
    const [large, small] = [4, 3].map((primaries) => ({ primaries, replicasPerPrimary: 0 }));
    const deployment = await sandbox.cluster("orders", 4, 0);
    const password = deployment.access.password ?? "";
    await form(deployment, { primaries: 4, replicasPerPrimary: 0 });
    const inputsFor = (shape: unknown): State => ({
      target: {
        ...{ platform: "endpoints", name: "orders", mode: "cluster", shape, zones: deployment.zones },
        ...{ directives: Object.fromEntries(deployment.directives), nodes: deployment.nodes },
      },
      ...{ password, users: {}, timeoutSeconds: 60 },
    });
    const formed = { ...inputsFor(large), cluster: { milliseconds: 1, drift: [] }, passwords: {} };
    const emptied = await update("Preparation", inputsFor(large), inputsFor(small));
    const slots = (): Promise<string> => withNode(deployment, 3, async (node) => node.cluster("INFO"));
    expect(await slots()).toContain("cluster_known_nodes:1\r\n");
    const back = await update("Preparation", emptied, inputsFor(large));
    const again = { ...inputsFor(large), emptiedAt: back["emptiedAt"] };
    expect(await changes("Formation", formed, again)).toBe(true);
    await update("Formation", formed, again);
    expect(await slots()).toContain("cluster_known_nodes:4\r\n");
    expect((await verifyUntilPass(deployment, { settlingMs: 10_000 })).verdict.pass).toBe(true);
  });
});
