/** The objects of an archive, as the component declares them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { readArchiverSettings } from "../../../../archiver/pod-settings";
import { backupProblems } from "../../../../components/kubernetes/archive/backup-problems";
import type { BackupArgs } from "../../../../components/kubernetes/backup-arguments";
import { ValkeyCluster } from "../../../../components/valkey-cluster";
import { checksum } from "../../../../lib/checksum";
import type { KubernetesObject } from "../../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../../support/kubernetes/kubernetes-objects";

const NAME = "orders-archive";
const SECRET_KEY = "never in a plain object";
const BACKUP: BackupArgs = {
  bucket: "backups",
  endpoint: "http://10.244.0.1:4568",
  credentials: { accessKeyId: pulumi.secret("key"), secretAccessKey: pulumi.secret(SECRET_KEY) },
};

function objectsOf(backup: BackupArgs | undefined): Promise<KubernetesObject[]> {
  return renderObjects(
    () =>
      new ValkeyCluster("orders", {
        ...{ namespace: "shop", shape: { primaries: 3, replicasPerPrimary: 1 }, zones: ["a", "b", "c"] },
        ...{ tls: { secretName: "certificate" }, controller: false, access: { clients: [{ podSelector: {} }] } },
        backup,
      }),
  );
}

function named(objects: readonly KubernetesObject[], kind: string, name = NAME): unknown {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: unknown;
    readonly template: {
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly containers: readonly [
          {
            readonly command: readonly string[];
            readonly env: readonly { readonly value: string }[];
            readonly securityContext: unknown;
          },
        ];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}
interface Policy {
  readonly spec: {
    readonly ingress: readonly { readonly from?: readonly unknown[] }[];
    readonly egress: readonly { readonly to?: unknown; readonly ports: readonly { readonly port: number }[] }[];
  };
}
const settingsIn = (objects: readonly KubernetesObject[]): string =>
  (named(objects, "ConfigMap") as { readonly data: { readonly "settings.json": string } }).data["settings.json"];

describe("the archive of a component", () => {
  it("is one pod at a time without rights in Kubernetes, whose program fits into its ConfigMap and starts", async () => {
    const objects = await objectsOf(BACKUP);
    const { spec } = named(objects, "Deployment") as Deployment;
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    const pod = spec.template.spec;
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(objects.filter(({ kind }) => /Role/.test(kind))).toEqual([]);
    const [container] = pod.containers;
    expect(container.securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    const volume = (name: string): unknown => pod.volumes.find((each) => each.name === name);
    expect(volume("spool")).toMatchObject({ emptyDir: { sizeLimit: "4Gi" } });
    expect(volume("tls")).toMatchObject({ secret: { items: [{ key: "ca.crt", path: "ca.crt" }] } });
    const packed = objects.find(({ metadata }) => metadata.name.startsWith(`${NAME}-`)) as unknown as {
      readonly binaryData: Readonly<Record<string, string>>;
    };
    const directory = mkdtempSync(join(tmpdir(), "archiver-"));
    for (const [file, content] of Object.entries(packed.binaryData)) {
      const bytes = Buffer.from(content, "base64");
      // The API server accepts 1 MiB.
      expect(bytes.length).toBeLessThan(2 ** 20);
      writeFileSync(join(directory, file), bytes);
    }
    const settings = join(directory, "settings.json");
    writeFileSync(settings, "edited by hand");
    const command = container.command.slice(1, -1).map((each) => each.replaceAll("/archive/program", directory));
    const { stdout, status } = spawnSync(process.execPath, [...command, settings], { encoding: "utf8" });
    rmSync(directory, { recursive: true });
    expect(stdout).toContain("the ConfigMap was edited by hand");
    expect(status).toBe(1);
  });

  it("knows the servers by DNS, and has keys only in its Secret", async () => {
    const objects = await objectsOf(BACKUP);
    const text = settingsIn(objects);
    expect(readArchiverSettings(text, checksum(text))).toMatchObject({
      servers: "_valkey._tcp.orders-headless.shop.svc.cluster.local",
      place: { bucket: "backups", prefix: "shop/orders", endpoint: "http://10.244.0.1:4568" },
      credentialsDirectory: "/archive/credentials",
      ...{ baseEverySeconds: 86_400, keepSeconds: 604_800, caFile: "/valkey/tls/ca.crt" },
    });
    expect(named(objects, "Secret")).toMatchObject({ stringData: { secretAccessKey: SECRET_KEY } });
    const others = objects.filter(({ kind }) => kind !== "Secret");
    expect(JSON.stringify(others)).not.toContain(SECRET_KEY);
    expect(() => readArchiverSettings(text.replace("backups", "others"), checksum(text))).toThrow(/edited by hand/);
  });

  it("may connect to servers and to the port of its bucket", async () => {
    const objects = await objectsOf(BACKUP);
    const matchLabels = { "app.kubernetes.io/name": "valkey-archive", "app.kubernetes.io/instance": "orders" };
    const [clients] = (named(objects, "NetworkPolicy", "orders") as Policy).spec.ingress;
    expect(clients?.from).toContainEqual({ podSelector: { matchLabels } });
    const portsOf = async (args: BackupArgs): Promise<number[]> =>
      (named(await objectsOf(args), "NetworkPolicy") as Policy).spec.egress
        .filter(({ to, ports }) => to === undefined && ports[0]?.port !== 53)
        .flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(await portsOf(BACKUP)).toEqual([4568]);
    expect(await portsOf({ bucket: "backups", region: "eu-central-1" })).toEqual([443]);
  });

  it("takes a role by an annotation of its service account, and the given Secret", async () => {
    const role = "arn:aws:iam::123456789012:role/backup";
    expect(named(await objectsOf({ bucket: "backups", role }), "ServiceAccount")).toMatchObject({
      metadata: { annotations: { "eks.amazonaws.com/role-arn": role } },
    });
    const objects = await objectsOf({ ...BACKUP, credentials: { secretName: "given" } });
    const { volumes } = (named(objects, "Deployment") as Deployment).spec.template.spec;
    expect(volumes.find(({ name }) => name === "credentials")).toMatchObject({ secret: { secretName: "given" } });
    expect(objects.filter(({ kind, metadata }) => kind === "Secret" && metadata.name === NAME)).toEqual([]);
  });

  it("changes no object of the servers but their network policy, and is not there without the argument", async () => {
    const own = ({ metadata }: KubernetesObject): boolean => metadata.name.startsWith(NAME);
    const [without, first, second] = [
      await objectsOf(undefined),
      await objectsOf(BACKUP),
      await objectsOf({ ...BACKUP, bucket: "others", baseEverySeconds: 600 }),
    ];
    expect(without.filter(own)).toEqual([]);
    const others = first.filter((each) => !own(each));
    expect(second.filter((each) => !own(each))).toEqual(others);
    const isPolicy = ({ kind }: KubernetesObject): boolean => kind === "NetworkPolicy";
    expect(others.filter((each) => !isPolicy(each))).toEqual(without.filter((each) => !isPolicy(each)));
  });
});

describe("arguments of a backup", () => {
  it("are refused with every problem at once, each with its path", async () => {
    const wrong: BackupArgs = {
      ...{ bucket: "My_Bucket", prefix: "/shop/", endpoint: "ftp://x", role: "backup", encryption: "yes" },
      ...{ baseEverySeconds: 5, keepSeconds: 4000.5, spoolSize: "1Mi", credentials: { accessKeyId: "key" } },
    };
    const fields = backupProblems(wrong).map(({ field }) => field);
    expect([...new Set(fields)]).toEqual([
      ...["bucket", "prefix", "endpoint", "role", "credentials"],
      ...["encryption", "baseEverySeconds", "keepSeconds", "spoolSize"],
    ]);
    await expect(objectsOf(wrong)).rejects.toThrow(/backup\.bucket: it is "My_Bucket".*backup\.credentials: /s);
  });

  it.each([
    [{ bucket: "backups" }, "region", "missing"],
    [{ ...BACKUP, endpoint: "https://me:secret@s3.example.com" }, "endpoint", "it has a user or a password"],
    [{ ...BACKUP, baseEverySeconds: 90_000, keepSeconds: 86_400 }, "keepSeconds", "at least baseEverySeconds"],
    [{ ...BACKUP, role: "arn:aws:iam::123456789012:role/backup" }, "credentials", "cannot be set together with role"],
    [{ ...BACKUP, credentials: {} }, "credentials", "expected secretName, or accessKeyId and secretAccessKey"],
  ] as const)("are refused: %j", (args, field, reason) => {
    expect(backupProblems(args)).toEqual([{ field, reason: expect.stringContaining(reason) as string }]);
  });

  it("are accepted with a key of the key service, and with values of other resources", () => {
    const encryption = "aws:kms:alias/backup";
    expect(backupProblems({ bucket: pulumi.output("x"), region: pulumi.output("y"), encryption })).toEqual([]);
  });
});
