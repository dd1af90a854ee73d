/** A password that another program keeps in a Secret, such as External Secrets or Vault: read, rotated, and never shown. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outputsSchema } from "../../../stacks/program/outputs";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { pulumiPath, PulumiStack, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";

const NAME = "sessions";
const FIRST = "first: from the vault";
const SECOND = "second: from the vault";

describe.skipIf(KUBECONFIG === undefined || pulumiPath() === undefined)(
  `a password from a Secret that exists, on the Pulumi engine${WHERE || pulumiSkipNote()}`,
  { timeout: 300_000 },
  () => {
    let trial: PulumiStack;
    let here: ThrowAway;
    let zones: string[];

    const config = (key = "password"): Record<string, unknown> => ({
      platform: {
        type: "kubernetes",
        kubeconfig: KUBECONFIG,
        namespace: here.namespace,
        createNamespace: false,
        zones,
        imagePullPolicy: "IfNotPresent",
        resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "256Mi" } },
        storage: { size: "1Gi" },
      },
      verification: { timeout: 120 },
      deployments: {
        [NAME]: {
          mode: "replication",
          replicas: 1,
          sentinel: false,
          passwordSecret: { name: "vault", key },
          settings: { maxmemory: "64mb" },
        },
      },
    });
    const keep = (password: string): Promise<void> => {
      const metadata = { name: "vault", namespace: here.namespace };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data: { password: base64(password) } };
      return here.apply([secret]);
    };
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    const login = (password: string): Promise<string> =>
      here.run(`${NAME}-0`, "valkey", `printf 'AUTH "${password}"\\nPING\\n' | valkey-cli`);
    const identities = async (): Promise<(string | undefined)[]> =>
      (await here.pods({ "app.kubernetes.io/name": "valkey" })).map(({ metadata }) => metadata?.uid).sort();
    const passes = async (): Promise<boolean[]> =>
      outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value).topologies.map(({ verdict }) => verdict.pass);
    /** Texts that contain the password as it is, or as Kubernetes writes it. */
    const shown = (password: string): string[] =>
      [trial.state(), trial.log.join("")].filter((text) => text.includes(password) || text.includes(base64(password)));

    beforeAll(async () => {
      here = await ThrowAway.open();
      zones = (await here.zones()).slice(0, 2);
      await keep(FIRST);
      trial = await PulumiStack.open(config());
    }, 60_000);
    afterAll(async () => {
      await trial.stack.destroy({ onOutput: trial.onOutput }).catch(() => undefined);
      await trial.close();
      await here.close();
    }, 200_000);

    it("is the servers' password, and is neither in the state nor in what Pulumi prints", async () => {
      await trial.up();
      expect(await passes()).toEqual([true]);
      expect(await login(FIRST)).toContain("PONG");
      expect((await trial.stack.outputs())["passwords"]).toEqual({ value: { [NAME]: FIRST }, secret: true });
      expect(shown(FIRST)).toEqual([]);
      expect(Object.keys(await trial.up({ expectNoChanges: true })).sort()).toEqual(["read", "same"]);
    });

    it("is rotated by the next `up` when it has changed, and no server restarts", async () => {
      const before = await identities();
      await keep(SECOND);
      await trial.up();
      expect(await passes()).toEqual([true]);
      expect(await login(SECOND)).toContain("PONG");
      expect(await identities()).toEqual(before);
      expect([...shown(FIRST), ...shown(SECOND)]).toEqual([]);
    });

    it("is refused at preview if the Secret has no such key, with the keys that it has", async () => {
      trial.configure(config("passwort"));
      await expect(trial.stack.preview({ onOutput: trial.onOutput })).rejects.toThrow(
        /passwordSecret: the Secret vault has no key passwort; it has password/,
      );
      expect([...shown(FIRST), ...shown(SECOND)]).toEqual([]);
    });
  },
);
