/** Archives of real deployments, as of a time after a test has written its data. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { archiveDeployment } from "../../../backup/archive/archive-deployment";
import { type Restore, chooseRestore, readCatalog, readRestore } from "../../../backup/archive/catalog";
import { claimArchive } from "../../../backup/archive/periods";
import { type Place, DirectoryStore } from "../../../backup/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { fetchSnapshot } from "../../../backup/replication-stream/snapshot";
import { type Sandbox, eventually, never } from "./real";

export function archiveFolder({ host }: Sandbox): string {
  const folder = join(host.run.path, "sets");
  mkdirSync(folder);
  return folder;
}

export async function snapshotOf({ nodes, access }: Deployment, index: number, directory: string): Promise<string> {
  const node = nodes[index];
  if (node === undefined) throw new Error(`there is no node ${index}`);
  const file = join(directory, `snapshot-${node.name}.rdb`);
  await fetchSnapshot({ name: node.name, endpoint: node.endpoint, access }, file, never);
  return file;
}

/** Archives into a folder until each shard has an instant that is later than this call. @returns what is restored */
export function archiveOnce(deployment: Deployment, folder: string): Promise<Restore> {
  return archiveInto(new DirectoryStore(folder), deployment, join(folder, ".spool"));
}

async function lastRestore(store: Place): Promise<Restore | string> {
  const choice = chooseRestore(await readCatalog(store), undefined);
  return typeof choice === "string" ? choice : readRestore(choice);
}

export async function hasInstantSince(store: Place, time: number): Promise<boolean> {
  const restore = await lastRestore(store);
  return typeof restore === "object" && restore.shards.every(({ point }) => point.at > time);
}

export async function archiveInto(store: Place, deployment: Deployment, spoolDirectory: string): Promise<Restore> {
  const { label: folder } = store;
  const { name, mode, nodes } = deployment;
  await claimArchive(
    store,
    { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) },
    folder,
  );
  const stop = new AbortController();
  const began = Date.now();
  const archiving = archiveDeployment({
    store,
    deployment,
    spoolDirectory,
    signal: stop.signal,
    onEvent: () => undefined,
  });
  let error: unknown;
  archiving.catch((caught: unknown) => (error = caught));
  try {
    await eventually("each shard has an instant", () => {
      if (error !== undefined) throw error as Error;
      return hasInstantSince(store, began);
    });
  } finally {
    stop.abort(new Error("stopped"));
    await archiving;
  }
  const last = await lastRestore(store);
  if (typeof last === "string") throw new Error(last);
  return last;
}
