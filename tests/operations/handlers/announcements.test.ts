/** Sentences of previews about changes, and changes that they refuse. */
import { type Problem, problemText } from "../../../lib/errors";
import { describe, it } from "vitest";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler as access } from "../../../operations/handlers/deployment/access";
import { handler as externalAddresses } from "../../../operations/handlers/deployment/external-addresses";
import { handler as hostServers } from "../../../operations/handlers/host-servers";
import { handler as imageCheck } from "../../../operations/handlers/deployment/image-check";
import { handler as rollout } from "../../../operations/handlers/deployment/rollout";
import { handler as scaleIn } from "../../../operations/handlers/deployment/scale-in";
import { handler as settings } from "../../../operations/handlers/deployment/settings";
import { handler as volumes } from "../../../operations/handlers/deployment/volumes";
import type { Mode } from "../../../valkey/node";
import { rulesOf } from "../../../valkey/access/users";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { expectReviewed } from "../../support/reviewed";

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

const cluster = target();
const replication = target(1, {}, "replication");
const within = (zones: readonly string[]): KubernetesReference => ({ ...cluster, zones });
const password = "the first password";
const app = { rules: "+@read ~app:*", password: "the app's password" };
const withUsers = (users: Record<string, typeof app>): { target: KubernetesReference; users: typeof users } => ({
  target: target(3, {}, "cluster", rulesOf({ users })),
  users,
});

const common = { target: cluster, password: "p", timeoutSeconds: 60 };
const tuned = { ...common, target: target(3, { maxmemory: 1, hz: 50 }) };
const rolled = { ...common, revision: "1", storage: storage("1Gi") };
const services = ["orders-0-external"];
const inside = { ...common, image: "valkey:9.1.2", revision: "1" };
const outside = { ...inside, external: { type: "NodePort", services } } as const;
const image = { ...common, image: "valkey:8.1.1", pod: {} };
const users = { ...({ overlapSeconds: 120, timeoutSeconds: 60, password } as const), ...withUsers({ app, old: app }) };
const nobody = { ...users, target: cluster, users: {} };
const newUsers = withUsers({ app: { rules: "+get ~app:*", password: "the app's second" }, late: app });
const volume = { target: cluster, storage: storage("1Gi"), timeoutSeconds: 60 };
const ephemeral = { ...volume, storage: { ...storage("1Gi"), ephemeral: true } };
const plan = { name: "orders", mode: "cluster", zones: ["a", "b", "c"] } as const;
const host = { plan, settings: { maxmemory: 1 }, shape, password: "p", owner: "o", timeoutSeconds: 60 };

describe("a preview", () => {
  it("says what a change does, and nothing of what has no effect", async () => {
    await expectReviewed("operations/announcements", "What previews say of changes.", {
      settings: settings.describeChange?.(tuned, { target: target(3, { maxmemory: 2, "io-threads": 4, hz: 50 }) }),
      "the same settings": settings.describeChange?.(tuned, { target: tuned.target }),
      "another template of pods": rollout.describeChange?.(rolled, { ...rolled, revision: "2" }),
      "another template in replication": rollout.describeChange?.(rolled, { target: replication, revision: "2" }),
      "another template with Sentinels": rollout.describeChange?.(rolled, {
        ...{ target: { ...replication, sentinel }, revision: "2" },
      }),
      "TLS from now on": rollout.describeChange?.(rolled, {
        ...{ target: { ...cluster, tls: { secretName: "tls" } }, revision: "2" },
      }),
      "another shape, of the pods": rollout.describeChange?.(rolled, { ...rolled, target: target(4) }),
      "clients outside": externalAddresses.describeChange?.(inside, outside),
      "no clients outside any more": externalAddresses.describeChange?.(outside, inside),
      "clients outside as before": externalAddresses.describeChange?.(outside, outside),
      "another image": imageCheck.describeChange?.(image, { ...image, image: "valkey:9.1.2" }),
      "another password, of the image": imageCheck.describeChange?.(image, { ...image, password: "q" }),
      "another shape": scaleIn.describeChange?.(common, { target: target(4) }),
      "the same shape": scaleIn.describeChange?.(common, { target: cluster }),
      "another password": access.describeChange?.(nobody, { ...nobody, password: "the second password" }),
      "the same password": access.describeChange?.(nobody, nobody),
      "users who are new, other and gone": access.describeChange?.(users, { ...users, ...newUsers }),
      // The password of a user who is added may have yet to be made.
      "users without passwords": access.describeChange?.(users, { password, target: newUsers.target }),
      "a zone less": volumes.describeChange?.(volume, { target: within(["a", "b"]) }),
      "a zone more": volumes.describeChange?.(volume, { target: within(["a", "b", "c", "d"]) }),
      "another zone": volumes.describeChange?.(volume, { target: within(["d", "a", "b"]) }),
      "another order of zones": volumes.describeChange?.(volume, { target: within(["c", "b", "a"]) }),
      "a zone without volumes": volumes.describeChange?.(ephemeral, { ...ephemeral, target: within(["a"]) }),
      "larger volumes": volumes.describeChange?.(volume, { storage: storage("2Gi") }),
      "volumes of the same size": volumes.describeChange?.(volume, { storage: storage("1024Mi") }),
      "other zones on the host": hostServers.describeChange?.(host, { ...host, plan: { ...plan, zones: ["a", "b"] } }),
      "settings on the host": hostServers.describeChange?.(host, { ...host, settings: { maxmemory: 2 } }),
      "a password on the host": hostServers.describeChange?.(host, { ...host, password: "another" }),
    });
  });

  it("refuses what no server could take, and what would lose data unasked", async () => {
    const external = (changes: object): unknown =>
      externalAddresses.check?.(undefined, { ...outside, ...changes }, HANDLER_CONTEXT);
    const accessOf = (changes: object): unknown => access.check?.(nobody, { ...nobody, ...changes }, HANDLER_CONTEXT);
    const watched = { target: { ...replication, sentinel }, password: "with a space in it" };
    const onHost = (values: ServerSettings): unknown =>
      hostServers.check?.(host, { ...host, settings: values }, HANDLER_CONTEXT);
    const wrong = withUsers({
      ...{ default: app, "valkey-measured-x": app, "a b": app },
      app: { rules: "+get >secret", password: "p" },
    });
    const checks: Readonly<Record<string, unknown>> = {
      "node ports": external({}),
      "node ports of old servers": external({ image: "valkey:8.1.1" }),
      "a load balancer of old servers": external({
        image: "valkey:8.1.1",
        external: { type: "LoadBalancer", services },
      }),
      "node ports of old replication": external({ image: "valkey:8.1.1", target: replication }),
      "a quoted password": accessOf({ password: 'any "quoted" password' }),
      "a short password, and a short overlap": accessOf({ password: "p", overlapSeconds: 10 }),
      "a password of two lines": accessOf({ password: "two lines,\nof which one" }),
      "a password with a space": accessOf({ target: replication, password: "with a space in it" }),
      "a password with a space for Sentinels": accessOf(watched),
      // Sentinels log in as `default` only.
      "a user's password with a space for Sentinels": accessOf({
        ...{ ...watched, password: "letters.digits_1-2" },
        users: { app: { ...app, password: "with a space too" } },
      }),
      "users with wrong names, rules and passwords": accessOf(wrong),
      "settings on the host that need no restart": onHost({ maxmemory: 2 }),
      "settings on the host that need a restart": onHost({ "io-threads": 2 }),
    };
    const found = Object.entries(checks).map(async ([what, check]) => {
      const problems = (await check) as readonly Problem[];
      return [what, problems.map((each) => `${each.code}  ${problemText(each)}`)] as const;
    });
    await expectReviewed("operations/refusals", "What previews refuse.", await Promise.all(found));
  });
});
