/**
 * Real servers for tests: the programs that a user's commands find, in a separate run directory that is removed
 * afterwards.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { Host } from "../../../platforms/host/host";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import type { Programs } from "../../../platforms/host/programs/programs";
import { fetchPrograms, unpackedPrograms } from "../../../platforms/host/programs/debian-packages";
import { findPrograms, inspectPrograms } from "../../../platforms/host/programs/programs";
import { RunDirectory } from "../../../platforms/host/run-directory";
import { cacheDirectory, packagesDirectory } from "../../../lib/system/paths";
import type { Condition } from "../../../lib/polling";
import { awaitCondition } from "../../../lib/polling";

export const ZONES = ["a", "b", "c"] as const;
export const never = new AbortController().signal;

let programs: Promise<Programs> | undefined;

/** @throws BadInput if there is no Valkey, so that tests fail and are not skipped */
export function realPrograms(): Promise<Programs> {
  programs ??= findPrograms(packagesDirectory(), () => undefined, never);
  return programs;
}

/** Valkey 8.1, the last without atomic slot migration, from Debian's packages; undefined where those cannot be had. */
export async function olderPrograms(): Promise<Programs | undefined> {
  // Not in the packages directory of commands, which would find the older version there.
  const packages = join(cacheDirectory(), "packages-8.1");
  const unpacked = unpackedPrograms(packages).find((path) => path.includes("valkey_8."));
  try {
    const programs = await inspectPrograms(
      unpacked ?? (await fetchPrograms(packages, () => undefined, never, "trixie")),
      "Debian packages",
    );
    return typeof programs === "string" ? undefined : programs;
  } catch {
    return undefined;
  }
}

/** The VALKEY_HOME with which a command uses the same programs. */
export async function valkeyHome(): Promise<string> {
  return dirname((await realPrograms()).server);
}

export class Sandbox {
  private constructor(
    private readonly directory: string,
    readonly host: Host,
  ) {}

  static async open(programs?: Programs): Promise<Sandbox> {
    const directory = mkdtempSync(join(tmpdir(), "valkey-test-"));
    return new Sandbox(directory, new Host(RunDirectory.create(directory, "test"), programs ?? (await realPrograms())));
  }

  cluster(
    name: string,
    primaries: number,
    replicasPerPrimary: number,
    settings: HostDeploymentPlan["settings"] = {},
  ): Promise<Deployment> {
    return this.host.start(
      {
        name,
        mode: "cluster",
        shape: { primaries, replicasPerPrimary },
        settings: { save: "", ...settings },
        zones: ZONES,
      },
      never,
    );
  }

  replication(name: string, replicas: number, settings: HostDeploymentPlan["settings"] = {}): Promise<Deployment> {
    return this.host.start(
      {
        name,
        mode: "replication",
        shape: { primaries: 1, replicasPerPrimary: replicas },
        settings: { save: "", ...settings },
        zones: ZONES,
      },
      never,
    );
  }

  async close(): Promise<void> {
    await this.host.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Calls `use` with a connection to the node at that place. */
export async function withNode<T>(
  deployment: Deployment,
  index: number,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const node = deployment.nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index}`);
  const connection = await deployment.connect(node);
  try {
    return await use(connection);
  } finally {
    connection.disconnect();
  }
}

/** Waits until a condition holds. @throws Failure naming `what` when it did not in time */
export function eventually(what: string, condition: Condition, timeoutMs = 20_000): Promise<void> {
  return awaitCondition(what, condition, { timeoutMs });
}
