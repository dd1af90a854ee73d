/** Sentences of previews about changes. */
import { problem, problemText } from "../../lib/errors";
import { describe, expect, it } from "vitest";
import { podReference } from "../../components/kubernetes/deployment/reference";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { handler as access } from "../../provider/handlers/access";
import { handler as externalAddresses } from "../../provider/handlers/external-addresses";
import { handler as hostServers } from "../../provider/handlers/host-servers";
import { handler as imageCheck } from "../../provider/handlers/checks/image-check";
import { handler as rollout } from "../../provider/handlers/rollout";
import { handler as scaleIn } from "../../provider/handlers/scale-in";
import { handler as settings } from "../../provider/handlers/settings";
import { handler as volumes } from "../../provider/handlers/volumes";
import type { Mode } from "../../valkey/node";
import { rulesOf } from "../../valkey/access/users";
import type { ServerSettings } from "../../valkey/settings/settings";
import { HANDLER_CONTEXT } from "../support/pulumi/handler-context";

const shape = { primaries: 3, replicasPerPrimary: 1 };
const target = (
  primaries = 3,
  values: ServerSettings = {},
  mode: Mode = "cluster",
  users: Record<string, string> = {},
): KubernetesReference =>
  podReference(
    "orders",
    { mode, shape: { ...shape, primaries } },
    { namespace: "valkey", zones: ["a", "b", "c"], settings: values, users },
  );

const sentinel = {
  statefulSet: "orders-sentinel",
  port: 26_379,
  settings: { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 },
  secret: { name: "orders-password", key: "sentinel-password" },
};
const storage = (size: string) => ({ size, template: "data", ephemeral: false, onDestroy: "delete" }) as const;

describe("a preview", () => {
  it("says which settings are set on running nodes, and which restart them", () => {
    const inputs = { target: target(3, { maxmemory: 1, hz: 50 }), password: "p", timeoutSeconds: 60 };
    const news = target(3, { maxmemory: 2, "io-threads": 4, hz: 50 });
    expect(settings.describeChange?.(inputs, { target: news })).toEqual([
      "maxmemory 2: set on 6 running nodes within seconds; no restart, no effect on clients",
      "io-threads: set by a restart of 6 nodes",
    ]);
    expect(settings.describeChange?.(inputs, { target: inputs.target })).toEqual([]);
  });

  it("says how many nodes restart, and what clients see", () => {
    const inputs = { target: target(), password: "p", revision: "1", storage: storage("1Gi"), timeoutSeconds: 60 };
    expect(rollout.describeChange?.(inputs, { ...inputs, revision: "2" })).toEqual([
      "6 nodes restart, one after the other, in about 72 s, longer with much data; a primary hands its slots over before it stops",
    ]);
    expect(rollout.describeChange?.(inputs, { target: target(1, {}, "replication"), revision: "2" })).toEqual([
      "2 nodes restart, one after the other, in about 12 s, longer with much data; a replica takes over before the primary stops",
    ]);
    expect(
      rollout.describeChange?.(inputs, { target: { ...target(1, {}, "replication"), sentinel }, revision: "2" }),
    ).toEqual([
      "2 nodes restart, one after the other, in about 24 s, longer with much data; a replica takes over before the primary stops",
    ]);
    expect(
      rollout.describeChange?.(inputs, { target: { ...inputs.target, tls: { secretName: "tls" } }, revision: "2" }),
    ).toEqual(["6 nodes restart at once; clients are cut off until the nodes run again"]);
    // Another shape alone restarts nothing.
    expect(rollout.describeChange?.(inputs, { ...inputs, target: target(4) })).toEqual([]);
  });

  it("says that clients are given other addresses, and refuses node ports of servers that cannot give them", async () => {
    const services = ["orders-0-external"];
    const common = { target: target(), password: "p", image: "valkey:9.1.2", revision: "1", timeoutSeconds: 60 };
    const off = { ...common, external: null };
    const on = { ...common, external: { type: "NodePort", services } } as const;
    expect(externalAddresses.describeChange?.(off, on)).toEqual([
      "6 running nodes give the addresses of Services to all clients, also to clients inside the Kubernetes cluster; type of the Services: NodePort; no restart, connections stay open",
    ]);
    expect(externalAddresses.describeChange?.(on, off)).toEqual([
      "6 running nodes give clients the addresses of pods again; no restart, but clients outside the Kubernetes cluster cannot connect any more",
    ]);
    expect(externalAddresses.describeChange?.(on, on)).toEqual([]);
    const refused = async (news: object): Promise<unknown> =>
      externalAddresses.check?.(undefined, { ...on, ...news }, HANDLER_CONTEXT);
    expect(await refused({ image: "valkey:8.1.1" })).toEqual([
      problem(
        "port-not-announced",
        "external.type",
        "with NodePort, servers must tell clients the port of a Service, but servers of the image valkey:8.1.1 can tell clients only their own port. " +
          "Expected LoadBalancer, or an image with Valkey 9.1 or newer",
      ),
    ]);
    expect(await refused({ image: "valkey:8.1.1", external: { type: "LoadBalancer", services } })).toEqual([]);
    expect(await refused({ image: "valkey:8.1.1", target: target(1, {}, "replication") })).toEqual([]);
    expect(await refused({})).toEqual([]);
  });

  it("says that another image is looked at before pods are replaced", () => {
    const inputs = { target: target(), password: "p", image: "valkey:8.1.1", pod: {}, timeoutSeconds: 60 };
    expect(imageCheck.describeChange?.(inputs, { ...inputs, image: "valkey:9.1.2" })).toEqual([
      "image valkey:8.1.1 becomes valkey:9.1.2; one pod runs the new image first, and if the new image is not Valkey, nothing changes",
    ]);
    expect(imageCheck.describeChange?.(inputs, { ...inputs, password: "q" })).toEqual([]);
  });

  it("says that another shape moves slots", () => {
    const inputs = { target: target(), password: "p", timeoutSeconds: 60 };
    expect(scaleIn.describeChange?.(inputs, { target: target(4) })).toEqual([
      "6 nodes become 8: slots move while clients work, in about a minute, longer with much data; no node restarts",
    ]);
    expect(scaleIn.describeChange?.(inputs, { target: inputs.target })).toEqual([]);
  });

  it("says that another password restarts nothing, and refuses one that cannot be", async () => {
    const inputs = {
      ...({ target: target(), users: {}, overlapSeconds: 120, timeoutSeconds: 60 } as const),
      password: "the first password",
    };
    expect(access.describeChange?.(inputs, { ...inputs, password: "the second password" })).toEqual([
      "a new password: set on 6 running nodes; the old password stays valid for 120 s; " +
        "no restart, no effect on clients that switch to the new password in this time",
    ]);
    expect(access.describeChange?.(inputs, inputs)).toEqual([]);
    const problems = async (changes: Partial<typeof inputs> | object): Promise<unknown> =>
      (await access.check?.(inputs, { ...inputs, ...changes }, HANDLER_CONTEXT))?.map(problemText);
    expect(await problems({ password: 'any "quoted" password' })).toEqual([]);
    expect(await problems({ password: "p", overlapSeconds: 10 })).toEqual([
      "password: has 1 characters; expected at least 16",
      "passwordOverlapSeconds: is 10; expected 90 to 3600, because pods read a new password up to 90 s late",
    ]);
    expect(await problems({ password: "two lines,\nof which one" })).toEqual(["password: has control characters"]);
    const replication = target(1, {}, "replication");
    expect(await problems({ target: replication, password: "with a space in it" })).toEqual([]);
    const watched = { target: { ...replication, sentinel }, password: "with a space in it" };
    expect(await problems(watched)).toEqual([
      "password: has characters that Sentinels cannot store; expected letters, digits, `.`, `_` and `-`",
    ]);
    // Sentinels log in as `default` only.
    const app = { rules: "+@read ~app:*", password: "with a space too" };
    expect(await problems({ ...watched, password: "letters.digits_1-2", users: { app } })).toEqual([]);
  });

  it("says that nodes move to other zones", () => {
    const within = (zones: readonly string[]): KubernetesReference => ({ ...target(), zones });
    const inputs = { target: within(["a", "b", "c"]), storage: storage("1Gi"), timeoutSeconds: 60 };
    const how =
      "one after the other, with new volumes; each node copies its data from other nodes before the next node moves";
    const left = `zone c is removed: nodes there move to other zones, ${how}`;
    const gained = `zone d is added: nodes in fuller zones move to other zones, ${how}`;
    expect(volumes.describeChange?.(inputs, { target: within(["a", "b"]) })).toEqual([left]);
    expect(volumes.describeChange?.(inputs, { target: within(["a", "b", "c", "d"]) })).toEqual([gained]);
    expect(volumes.describeChange?.(inputs, { target: within(["d", "a", "b"]) })).toEqual([left, gained]);
    expect(volumes.describeChange?.(inputs, { target: within(["c", "b", "a"]) })).toEqual([]);
    const ephemeral = { ...inputs, storage: { ...storage("1Gi"), ephemeral: true } };
    expect(volumes.describeChange?.(ephemeral, { ...ephemeral, target: within(["a"]) })).toEqual([]);
  });

  it("says how many volumes grow", () => {
    const inputs = { target: target(), storage: storage("1Gi"), timeoutSeconds: 60 };
    expect(volumes.describeChange?.(inputs, { storage: storage("2Gi") })).toEqual([
      "6 volumes grow from 1Gi to 2Gi in about half a minute; no node restarts, no effect on clients: StatefulSet orders is recreated and keeps its pods",
    ]);
    expect(volumes.describeChange?.(inputs, { storage: storage("1024Mi") })).toEqual([]);
  });

  it("says which users are added, changed and deleted, and refuses what no server could take", async () => {
    const app = { rules: "+@read ~app:*", password: "the app's password" };
    const to = (users: Record<string, typeof app>): { target: KubernetesReference; users: typeof users } => ({
      target: target(3, {}, "cluster", rulesOf({ users })),
      users,
    });
    const inputs = {
      ...({ overlapSeconds: 120, timeoutSeconds: 60, password: "the first password" } as const),
      ...to({ app, old: app }),
    };
    const news = to({ app: { rules: "+get ~app:*", password: "the app's second" }, late: app });
    const rules = [
      "user app: gets new rules on 6 running nodes (+get ~app:*), in about 20 s; no restart, no effect on other clients",
      "user late: added on 6 running nodes (+@read ~app:*), in about 20 s; no restart, no effect on other clients",
      "user old: deleted on 6 running nodes, and its connections are closed, in about 20 s; no restart, no effect on other clients",
    ];
    expect(access.describeChange?.(inputs, { ...inputs, ...news })).toEqual([
      "a new password of app: set on 6 running nodes; the old password stays valid for 120 s; " +
        "no restart, no effect on clients that switch to the new password in this time",
      ...rules,
    ]);
    // The password of a user who is added may have yet to be made.
    expect(access.describeChange?.(inputs, { password: inputs.password, target: news.target })).toEqual(rules);
    const wrong = to({
      default: app,
      "valkey-measured-x": app,
      "a b": app,
      app: { rules: "+get >secret", password: "p" },
    });
    expect((await access.check?.(inputs, { ...inputs, ...wrong }, HANDLER_CONTEXT))?.map(({ path }) => path)).toEqual([
      "users.app.password",
      "users.default",
      "users.valkey-measured-x",
      "users.a b",
      "users.app.rules",
    ]);
  });

  it("says on the platform host when servers are replaced, and refuses what would lose data unasked", async () => {
    const plan = { name: "orders", mode: "cluster", zones: ["a", "b", "c"] } as const;
    const inputs = { plan, settings: { maxmemory: 1 }, shape, password: "p", owner: "o", timeoutSeconds: 60 };
    expect(hostServers.describeChange?.(inputs, { ...inputs, plan: { ...plan, zones: ["a", "b"] } })).toEqual([
      "orders: all servers are replaced, and their data is deleted",
    ]);
    expect(hostServers.describeChange?.(inputs, { ...inputs, settings: { maxmemory: 2 } })).toEqual([
      "maxmemory 2: set on 6 running nodes within seconds; no restart, no effect on clients",
    ]);
    expect(hostServers.describeChange?.(inputs, { ...inputs, password: "another" })).toEqual([
      "a new password: set on 6 running nodes, without a restart",
    ]);
    expect(await hostServers.check?.(inputs, { ...inputs, settings: { maxmemory: 2 } }, HANDLER_CONTEXT)).toEqual([]);
    expect(
      await hostServers.check?.(inputs, { ...inputs, settings: { "io-threads": 2 } }, HANDLER_CONTEXT),
    ).toMatchObject([
      {
        code: "needs-restart",
        path: "settings",
        message: expect.stringMatching(/cannot take a new value of io-threads, .* loses the data/) as string,
      },
    ]);
  });
});
