/** TLS on and off for servers that hold data, in one `pulumi up` each, in both modes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { outputsSchema } from "../../../stacks/program/outputs";
import { issueCertificate, serverHosts } from "../../support/kubernetes/certificates";
import { pulumiPath, PulumiStack, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";

const DEPLOYMENTS = ["cluster", "replication"];

describe.skipIf(KUBECONFIG === undefined || pulumiPath() === undefined)(
  `TLS of a stack on the Pulumi engine${WHERE || pulumiSkipNote()}`,
  { timeout: 300_000 },
  () => {
    const namespace = `valkey-tls-${process.pid}`;
    let trial: PulumiStack;
    let here: ThrowAway;
    let zones: string[];

    const config = (keys: object = {}): Record<string, unknown> => ({
      platform: {
        type: "kubernetes",
        kubeconfig: KUBECONFIG,
        namespace,
        zones,
        imagePullPolicy: "IfNotPresent",
        resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "2", memory: "256Mi" } },
        storage: { size: "1Gi" },
        ...keys,
      },
      verification: { timeout: 120 },
      deployments: {
        cluster: { mode: "cluster", primaries: 3, replicasPerPrimary: 0, settings: { maxmemory: "64mb" } },
        replication: { mode: "replication", replicas: 1, settings: { maxmemory: "64mb" } },
      },
    });
    const tell = (deployment: string, command: string): Promise<string> => {
      const client =
        'valkey-cli -c -h localhost ${VALKEY_TLS_CA:+--tls --cacert "$VALKEY_TLS_CA"} --askpass --no-auth-warning';
      const script = `{ cat "$VALKEY_PASSWORD_FILE"; echo; echo '${command}'; } | ${client}`;
      return here.run(`${deployment}-0`, "valkey", script);
    };
    const values = async (): Promise<string[]> =>
      Promise.all(DEPLOYMENTS.map(async (name) => (await tell(name, "GET kept")).trim().split("\n").at(-1) ?? ""));
    const passing = async (): Promise<boolean[]> =>
      outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value).topologies.map(({ verdict }) => verdict.pass);

    beforeAll(async () => {
      here = await ThrowAway.at(namespace);
      zones = (await here.zones()).slice(0, 2);
      trial = await PulumiStack.open(config());
      await trial.up();
      for (const name of DEPLOYMENTS) expect(await tell(name, "SET kept yes")).toContain("OK");
      const data = issueCertificate(serverHosts(namespace, ...DEPLOYMENTS));
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "certificate", namespace }, data };
      await here.apply([secret]);
    }, 200_000);
    afterAll(async () => {
      await trial.stack.destroy({ onOutput: trial.onOutput }).catch(() => undefined);
      await trial.close();
    }, 200_000);

    it("is refused without consent, and goes on and off with it and keeps the data", async () => {
      const tls = { secretName: "certificate" };
      trial.configure(config({ tls }));
      await expect(trial.stack.preview({ onOutput: trial.onOutput })).rejects.toThrow(
        /property tls .* TLS cannot be switched on while clients of (cluster|replication) work: .* Set allowDowntime: true/,
      );
      trial.configure(config({ tls, allowDowntime: true }));
      trial.log.length = 0;
      await trial.up();
      for (const count of [3, 2])
        expect(trial.log.join("")).toContain(
          `${count} nodes restart at once; clients are cut off until the nodes run again`,
        );
      expect(await tell("cluster", "CONFIG GET tls-cluster")).toContain("yes");
      expect(await values()).toEqual(DEPLOYMENTS.map(() => "yes"));
      expect(await passing()).toEqual(DEPLOYMENTS.map(() => true));
      trial.configure(config({ allowDowntime: true }));
      await trial.up();
      expect(await tell("cluster", "CONFIG GET tls-cluster")).toContain("no");
      expect(await values()).toEqual(DEPLOYMENTS.map(() => "yes"));
      expect(await passing()).toEqual(DEPLOYMENTS.map(() => true));
    });
  },
);
