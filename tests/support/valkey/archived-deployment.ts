/** Archives of real deployments, as of a time after a test has written its data. */
import { join } from "node:path";
import { archiveDeployment } from "../../../valkey/archive/archive-deployment";
import type { Restore } from "../../../valkey/archive/catalog";
import { chooseRestore, readCatalog, readRestore } from "../../../valkey/archive/catalog";
import { claimArchive } from "../../../valkey/archive/periods";
import type { Place } from "../../../valkey/archive/store";
import { DirectoryStore } from "../../../valkey/archive/store";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { eventually } from "./real";

/** Archives into a folder until each shard has an instant that is later than this call. @returns what is restored */
export function archiveOnce(deployment: Deployment, folder: string): Promise<Restore> {
  return archiveInto(new DirectoryStore(folder), deployment, join(folder, ".spool"));
}

/** Archives until each shard has an instant that is later than this call. @returns what is restored */
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
  const readLast = async (): Promise<Restore | string> => {
    const choice = chooseRestore(await readCatalog(store, folder), undefined);
    return typeof choice === "string" ? choice : readRestore(choice);
  };
  try {
    await eventually("each shard has an instant", async () => {
      if (error !== undefined) throw error as Error;
      const restore = await readLast();
      return typeof restore === "object" && restore.shards.every(({ point }) => point.at > began);
    });
  } finally {
    stop.abort(new Error("stopped"));
    await archiving;
  }
  const last = await readLast();
  if (typeof last === "string") throw new Error(last);
  return last;
}
