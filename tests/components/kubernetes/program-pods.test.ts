/** Programs of controllers, archives, restores and drills: each starts in its pod, and reads the settings that it gets. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../support/directory";
import { readArchiverSettings } from "../../../backup/archiver/pod-settings";
import { restoredBucket } from "../../../components/kubernetes/restoring/restore-problems";
import { readControllerSettings } from "../../../operations/controller/pod-settings";
import { checksum } from "../../../lib/checksum";
import { readRestorerSettings } from "../../../backup/restorer/pod-settings";
import type { ProgramRun } from "../../support/pulumi/pulumi-mocks";
import { renderedRun } from "../../support/pulumi/rendered-programs";
import type { Container, PodSpec } from "../../support/kubernetes/pod-specs";

const CONFIG_MAP = "kubernetes:core/v1:ConfigMap";
/** Readers of the settings of each program. */
const READERS = {
  controller: readControllerSettings,
  archive: readArchiverSettings,
  restore: readRestorerSettings,
  drill: readRestorerSettings,
};

type Program = keyof typeof READERS;
const PROGRAMS = Object.keys(READERS) as Program[];

describe("the programs of a deployment's pods", () => {
  let run: ProgramRun;
  beforeAll(async () => {
    run = await renderedRun("cluster");
  }, 300_000);

  const settingsOf = (program: Program): string => {
    const { inputs } = run.one(`${CONFIG_MAP}Patch`, `orders-${program}`);
    return (inputs["data"] as { readonly "settings.json": string })["settings.json"];
  };
  const containerOf = (program: Program): Container => {
    const specs = run.resources.flatMap(({ type, name, inputs }): PodSpec[] => {
      if (program === "restore") return type === "valkey:index:Restore" ? [inputs["pod"] as PodSpec] : [];
      if (name !== `orders-${program}` || !/:(Deployment|CronJob)$/.test(type)) return [];
      const spec = inputs["spec"] as {
        template?: { spec: PodSpec };
        jobTemplate?: { spec: { template: { spec: PodSpec } } };
      };
      return [spec.template ?? spec.jobTemplate?.spec.template].flatMap((template) => template?.spec ?? []);
    });
    const container = specs.flatMap(({ containers }) => containers).find(({ name }) => name === program);
    if (container === undefined) throw new Error(`no container ${program}`);
    return container;
  };

  it.each(PROGRAMS)(
    "%s fits into an immutable ConfigMap, starts from it, and refuses settings that somebody edited",
    (program) => {
      const { inputs } = run.one(CONFIG_MAP, `orders-${program}-program`);
      expect(inputs["immutable"]).toBe(true);
      const directory = temporaryDirectory();
      const files = Object.entries(inputs["binaryData"] as Readonly<Record<string, string>>);
      for (const [file, content] of files) writeFileSync(join(directory, file), Buffer.from(content, "base64"));
      // The API server accepts 1 MiB.
      expect(files.map(([, content]) => Buffer.from(content, "base64").length < 2 ** 20)).toEqual([true]);
      const settings = join(directory, "settings.json");
      writeFileSync(settings, "edited by hand");
      const { command = [] } = containerOf(program);
      const words = command.slice(1, -1).map((each) => each.replaceAll(/\/\w+\/program/g, directory));
      const { stdout, status } = spawnSync(process.execPath, [...words, settings], { encoding: "utf8" });
      expect(stdout).toContain("the ConfigMap was edited by hand");
      expect(status).toBe(1);
    },
  );

  it.each(PROGRAMS)("%s reads its settings, whose checksum its pod knows", (program) => {
    const text = settingsOf(program);
    const read = READERS[program];
    // What the settings are is in tests/rendered/cluster.yaml.
    expect(read(text, checksum(text))).toMatchObject(JSON.parse(text) as object);
    expect(containerOf(program).env).toContainEqual({ name: "SETTINGS_CHECKSUM", value: checksum(text) });
    expect(() => read(text.replace("orders", "others"), checksum(text))).toThrow(/edited by hand/);
  });

  it("may change and delete only objects of their own deployment: the controller its pods and claims with consent, no other", () => {
    interface Rule {
      readonly resources: readonly string[];
      readonly verbs: readonly string[];
      readonly resourceNames?: readonly string[];
    }
    const rules = run
      .ofType("kubernetes:rbac.authorization.k8s.io/v1:Role")
      .flatMap(({ inputs }) => inputs["rules"] as Rule[]);
    const pods = Array.from({ length: 6 }, (_, index) => `orders-${index}`);
    const deleting = rules.filter(({ verbs }) => verbs.includes("delete"));
    expect(deleting.map(({ resources, resourceNames }) => [resources, resourceNames])).toEqual([
      [["poddisruptionbudgets"], ["orders", "orders-group-2", "orders-group-3"]],
      [["pods"], pods],
      [["persistentvolumeclaims"], pods.map((pod) => `data-${pod}`)],
    ]);
    // Only lists and new objects have no names. Pods and StatefulSets are read, for messages about other deployments.
    const unnamed = rules.filter(({ resourceNames, verbs }) => resourceNames === undefined && !verbs.includes("list"));
    expect(unnamed.map(({ resources, verbs }) => [...resources, ...verbs])).toEqual([
      ["events", "create"],
      ["leases", "create"],
    ]);
    expect(rules.flatMap(({ resources }) => resources).filter((each) => each === "secrets" || each === "*")).toEqual(
      [],
    );
    const cluster = run
      .ofType("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole")
      .flatMap(({ inputs }) => inputs["rules"] as Rule[]);
    expect([...new Set(cluster.flatMap(({ verbs }) => verbs))].sort()).toEqual(["get", "list"]);
  });
});

it("a restore without a bucket of its own uses the bucket of the backup", () => {
  const backup = { bucket: "backups", endpoint: "https://minio:9000", credentials: { secretName: "minio" } };
  const role = "arn:aws:iam::123456789012:role/read";
  expect(restoredBucket({ prefix: "shop/former" }, backup)).toMatchObject({ ...backup, prefix: "shop/former" });
  expect(restoredBucket({ role }, backup)).toMatchObject({ bucket: "backups", credentials: undefined, role });
  expect(restoredBucket({ bucket: "other" }, backup)).toMatchObject({ bucket: "other", endpoint: undefined });
});
