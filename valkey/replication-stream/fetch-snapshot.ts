/** Receives the data of a running server as an RDB file, as a replica does. */
import { open } from "node:fs/promises";
import { Failure } from "../../lib/errors";
import type { StreamSource } from "./replica-link";
import { ReplicaLink } from "./replica-link";
import { readSnapshot } from "./snapshot";

/**
 * Writes all data of a server to an RDB file.
 * @param path path of the file on this machine
 * @throws Failure that names the server, the reason of an aborted signal, and errors of the file system
 */
export async function fetchSnapshot(source: StreamSource, path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const link = await ReplicaLink.open(source);
  const onAbort = (): void => {
    link.close();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const file = await open(path, "w", 0o600);
  try {
    const reply = await link.sync(undefined);
    if (reply.kind !== "full") throw new Failure(`${link.where} sends no RDB file`);
    for await (const piece of readSnapshot(link.reader)) await file.writeFile(piece);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    link.close();
    await file.close();
  }
}
