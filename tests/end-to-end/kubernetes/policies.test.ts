/** The guardrails on a real engine, which tells them less than mocks do: nothing of a chart but the objects in it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../../lib/system/package";
import { pulumiPath, pulumiSkipNote } from "../../support/pulumi/pulumi-stack";
import { KUBECONFIG, WHERE } from "../../support/kubernetes/throw-away";

const FILES: Readonly<Record<string, string>> = {
  "Pulumi.yaml": "name: guarded\nruntime: { name: nodejs, options: { typescript: false } }\nmain: index.js\n",
  "package.json": JSON.stringify({ name: "guarded", version: "0.0.0" }),
  "chart/Chart.yaml": "apiVersion: v2\nname: servers\nversion: 1.0.0\n",
  "chart/templates/servers.yaml": `apiVersion: apps/v1
kind: StatefulSet
metadata: { name: servers }
spec:
  serviceName: servers
  replicas: 3
  selector: { matchLabels: { app.kubernetes.io/name: valkey } }
  template:
    metadata: { labels: { app.kubernetes.io/name: valkey } }
    spec:
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: {{ .Values.spread }}, labelSelector: { matchLabels: { app.kubernetes.io/name: valkey } } }]
      securityContext: { runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
      containers: [{ name: valkey, image: "valkey:9.1.2", securityContext: { allowPrivilegeEscalation: false, privileged: {{ .Values.privileged }}, capabilities: { drop: [ALL] } } }]
`,
  // Rendered, so that nothing is asked of a cluster.
  "index.js": `const pulumi = require("@pulumi/pulumi");
const k8s = require("@pulumi/kubernetes");
const { spread, privileged, version } = JSON.parse(process.env.GUARDED);
const provider = new k8s.Provider("rendered", { renderYamlToDirectory: "rendered" });
const parent = new pulumi.ComponentResource("valkey:test:Servers", "servers", { charts: [{ chart: "servers", version }] });
new k8s.helm.v4.Chart("servers", { chart: "./chart", version, values: { spread, privileged } }, { parent, provider });
`,
};

describe.skipIf(KUBECONFIG === undefined || pulumiPath() === undefined)(
  `the guardrails on the Pulumi engine${WHERE || pulumiSkipNote()}`,
  { timeout: 120_000 },
  () => {
    let directory: string;
    let environment: NodeJS.ProcessEnv;

    const pulumi = (
      args: readonly string[],
      guarded: object = {},
    ): Promise<{ readonly status: number; readonly output: string }> =>
      new Promise((resolve) => {
        execFile(
          "pulumi",
          [...args, "--non-interactive", "--stack", "trial"],
          { cwd: directory, env: { ...environment, GUARDED: JSON.stringify(guarded) } },
          (error, stdout, stderr) => {
            resolve({ status: error === null ? 0 : 1, output: stdout + stderr });
          },
        );
      });
    const preview = (guarded: object): ReturnType<typeof pulumi> =>
      pulumi(["preview", "--policy-pack", join(ROOT, "policies"), "--suppress-progress", "--color", "never"], guarded);

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), "guarded-"));
      for (const sub of ["chart/templates", ".state"]) mkdirSync(join(directory, sub), { recursive: true });
      for (const [file, text] of Object.entries(FILES)) writeFileSync(join(directory, file), text);
      symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
      environment = {
        ...process.env,
        PATH: pulumiPath(),
        PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
        PULUMI_CONFIG_PASSPHRASE: "trial",
        PULUMI_SKIP_UPDATE_CHECK: "true",
      };
      expect(await pulumi(["stack", "init"])).toMatchObject({ status: 0 });
    });
    afterAll(() => {
      rmSync(directory, { recursive: true, force: true });
    });

    it("let a program pass that conforms", async () => {
      const { status, output } = await preview({ spread: "DoNotSchedule", privileged: false, version: "1.0.0" });
      expect(output).not.toMatch(/mandatory|advisory/);
      expect(output).toContain("kubernetes:apps/v1:StatefulSet");
      expect(status, output).toBe(0);
    });

    it("stop one that does not, and say why", async () => {
      const { status, output } = await preview({ spread: "ScheduleAnyway", privileged: true, version: ">0.0.1" });
      expect(status).toBe(1);
      for (const rule of ["hard-zone-spread", "restricted-pod-security", "pinned-charts"])
        expect(output).toMatch(new RegExp(`\\[mandatory\\] +${rule} `));
      expect(output.match(/\[mandatory\]/g)).toHaveLength(3);
    });
  },
);
