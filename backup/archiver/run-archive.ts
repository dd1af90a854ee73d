import { rm } from "node:fs/promises";
import { describeStep } from "../../lib/clock";
import { BadInput, messageOf } from "../../lib/errors";
import { counted, formatBytes } from "../../lib/units";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { archiveDeployment } from "../archive/archive-deployment";
import type { ArchiveEvent, ArchiveOptions } from "../archive/archive-shard";
import { type Tidied, Retention } from "../archive/keeping/retention";
import type { Lease } from "../archive/lease";
import { type ArchiveOwner, claimArchive, ownerProblem, readOwner } from "../archive/periods";
import type { Place } from "../archive/store";

/** Greater than 1, because names that begin with a dot come first and do not count. */
const FIRST_NAMES = 20;

export interface OpenArchive {
  readonly place: Place;
  readonly lease: Lease;
}

/**
 * Writes nothing but the lease.
 * @throws BadInput if the place has other files, the archive belongs to a different deployment, or a process writes to it
 */
export async function openArchive(place: Place, deployment: Deployment, signal: AbortSignal): Promise<OpenArchive> {
  const owner = await readOwner(place);
  const problem = owner === undefined ? await otherFiles(place) : ownerProblem(owner, ownerOf(deployment));
  if (problem !== undefined) throw BadInput.of(place.label, "place-refused", problem);
  const lease = await place.lease(signal);
  if (lease === undefined)
    throw BadInput.of("archive", "archive-in-use", `a different process archives into ${place.label}`);
  return { place, lease };
}

async function otherFiles(place: Place): Promise<string | undefined> {
  const [first] = (await place.list("", FIRST_NAMES)).filter((name) => !name.startsWith("."));
  const kind = place.isRemote ? "prefix" : "folder";
  return first === undefined ? undefined : `the ${kind} has other files and no archive (${first}); use a new ${kind}`;
}

function ownerOf({ name, mode, nodes }: Deployment): ArchiveOwner {
  return { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) };
}

interface RunOptions extends Pick<ArchiveOptions, "deployment" | "spoolBytes" | "baseEveryMs" | "signal" | "onEvent"> {
  readonly keepMs: number | undefined;
  /** Called while this process has the lease. @returns an empty directory, which is removed at the end */
  readonly openSpool: () => Promise<string>;
  readonly log: (line: string) => void;
  readonly onTidied?: (tidied: Tidied) => Promise<void>;
  readonly onTidyError?: () => void;
}

/** Releases the lease at the end. @throws the errors of `archiveDeployment`; the lease's reason when it is lost */
export async function runArchive(
  { place, lease }: OpenArchive,
  { deployment, keepMs, openSpool, log, onTidied, onTidyError, ...options }: RunOptions,
): Promise<void> {
  const { lost } = lease;
  const liveSets = new Set<string>();
  const retention =
    keepMs === undefined
      ? undefined
      : new Retention(place, {
          ...{ keepMs, liveSets, lost, signal: options.signal },
          onTidied: async (tidied) => {
            for (const { period, shard, set } of tidied.deleted) log(`deleted set ${period}/${shard}/${set}`);
            await onTidied?.(tidied);
          },
          // The next search tries again.
          onError: (error) => {
            onTidyError?.();
            log(`old sets were not deleted: ${messageOf(error)}`);
          },
        });
  let spoolDirectory: string | undefined;
  try {
    spoolDirectory = await openSpool();
    await claimArchive(place, ownerOf(deployment), place.label);
    await archiveDeployment({
      ...options,
      ...{ store: place, deployment, spoolDirectory, liveSets },
      signal: AbortSignal.any([options.signal, lost]),
      onEvent: (event) => {
        const line = describeEvent(event);
        if (line !== undefined) log(line);
        options.onEvent(event);
        // Sets become obsolete when new ones begin. Not before the first period, because the files of a deletion would
        // count as left by a killed process.
        if (event.kind === "period" || (event.kind === "written" && event.file.keys !== undefined)) retention?.tidy();
      },
    });
    lost.throwIfAborted();
  } finally {
    // Only the process with the lease may delete, also in the spool.
    if (spoolDirectory !== undefined) await rm(spoolDirectory, { recursive: true, force: true }).catch(() => undefined);
    await retention?.end();
    await lease.release();
  }
}

function describeEvent(event: ArchiveEvent): string | undefined {
  switch (event.kind) {
    case "period": {
      const { name, shards } = event.period;
      return `${event.isNew ? "new" : "continued"} period ${name} with ${counted(shards.length, "shard")}`;
    }
    case "connect":
      return `${event.shard}: following ${event.node}`;
    case "continued":
      return `${event.shard}: the stream goes on where the archive ended`;
    case "written": {
      const { keys, bytes } = event.file;
      return keys === undefined
        ? undefined
        : `${event.shard}: base with ${counted(keys, "key")}, ${formatBytes(bytes)}`;
    }
    case "postponed":
      return `${event.shard}: the new base failed and will be tried again: ${event.why}`;
    case "waiting":
      return `waiting: ${event.why}`;
    case "clock":
      return describeStep(event.stepMs);
    case "moved":
      return "slots have moved, so the period ends and every shard gets a new base";
    case "safe":
    case "spool":
      return undefined;
  }
}
