/** Divides a memory limit into `maxmemory` for data and parts for all other uses. Pure. */
import { compact } from "../../lib/compact";
import { formatBytes } from "../../lib/units";
import type { ServerSettings } from "../settings/settings";
import { writesToDisk } from "../settings/settings";
import type { Shape } from "../topology/placement";

const MIB = 1024 ** 2;

/** A server that must stay within a memory limit. */
export interface MemoryDemand {
  /** Memory limit of the container, bytes. */
  readonly limitBytes: number;
  readonly mode: "replication" | "cluster";
  readonly shape: Shape;
  readonly settings: ServerSettings;
}

interface MemoryPart {
  readonly what: string;
  readonly bytes: number;
}

/** The division of a memory limit. The sum of the parts and `maxmemory` is the limit. */
export interface MemoryPlan {
  readonly limitBytes: number;
  /** The largest `maxmemory` that fits into the limit, bytes. 0 if the other parts need the whole limit. */
  readonly maxmemory: number;
  readonly parts: readonly MemoryPart[];
}

/** Memory for the program, the stacks of its threads, and its memory allocator. */
const PROGRAM_BYTES = 16 * MIB;
/**
 * Memory for client buffers. The server does not count these buffers as used memory. A burst of replies can fill the
 * buffers faster than the server evicts keys or refuses commands.
 */
const CLIENTS = { share: 1 / 32, least: 16 * MIB } as const;
/**
 * Memory for the stream to replicas or to the target of a slot migration: data that a slow receiver has not read yet.
 * The server does not count this memory as used. All replicas share one stream, and the server always keeps its
 * replication backlog. By default, the server disconnects a replica only when the stream is as large as `most`.
 */
const STREAM = { share: 1 / 16, least: 16 * MIB, most: 256 * MIB } as const;
/** Memory that the allocator needs in addition to the data, as a fraction of the data. */
const FRAGMENTATION = 0.1;
/**
 * Memory for copied pages, as a fraction of the data (docs/kubernetes.md, Memory). While a forked child reads the data,
 * each page that a client changes is copied. A server that evicts keys needs more of this memory than a server that
 * refuses writes, because an evicting server continues to accept writes.
 */
const COPY_ON_WRITE = { refusing: 0.4, evicting: 0.6 } as const;

/** Divides a memory limit into parts and `maxmemory`. */
export function memoryPlan(demand: MemoryDemand): MemoryPlan {
  const { limitBytes, mode, shape } = demand;
  const fixed: MemoryPart[] = compact([
    { what: "program", bytes: PROGRAM_BYTES },
    { what: "client buffers", bytes: shareOf(limitBytes, CLIENTS) },
    shape.replicasPerPrimary === 0 ? undefined : { what: "replication buffers", bytes: shareOf(limitBytes, STREAM) },
    mode === "cluster" ? { what: "slot migration", bytes: shareOf(limitBytes, STREAM) } : undefined,
  ]);
  const rest = Math.max(0, limitBytes - fixed.reduce((sum, { bytes }) => sum + bytes, 0));
  const copies = forks(demand) ? copyOnWrite(demand.settings) : 0;
  const maxmemory = Math.floor(rest / (1 + FRAGMENTATION + copies) / MIB) * MIB;
  const copied = Math.floor(maxmemory * copies);
  return {
    limitBytes,
    maxmemory,
    parts: compact([
      ...fixed,
      copied === 0 ? undefined : { what: "pages copied during a save or a full synchronization", bytes: copied },
      { what: "fragmentation", bytes: rest - maxmemory - copied },
    ]),
  };
}

const BUFFER_LIMIT = "client-output-buffer-limit";

/**
 * Adds settings that keep a server within its memory limit. Configured settings are not changed. The added settings are
 * `maxmemory` and the buffer size at which the server disconnects a slow replica or ends a slot migration.
 *
 * A change of the buffer size restarts servers, and a change of the shape must not restart servers. For this reason the
 * buffer size depends only on the memory limit.
 */
export function withinMemory(demand: MemoryDemand): ServerSettings {
  const { limitBytes, settings } = demand;
  const buffer = shareOf(limitBytes, STREAM);
  const { [BUFFER_LIMIT]: own = "" } = settings;
  const isOwn = buffer === STREAM.most || /\b(replica|slave)\b/.test(String(own));
  return {
    ...settings,
    ...(isOwn ? {} : { [BUFFER_LIMIT]: `${own} replica ${buffer} ${buffer} 60`.trim() }),
    maxmemory: settings.maxmemory ?? memoryPlan(demand).maxmemory,
  };
}

/**
 * The division of a memory limit as text, such as `601 MiB of the memory limit of 1.0 GiB; the rest is for program 16
 * MiB, client buffers 32 MiB, …`
 */
export function describeMemory({ limitBytes, maxmemory, parts }: MemoryPlan): string {
  const rest = parts.map(({ what, bytes }) => `${what} ${formatBytes(bytes)}`).join(", ");
  return `${formatBytes(maxmemory)} of the memory limit of ${formatBytes(limitBytes)}; the rest is for ${rest}`;
}

/**
 * Checks that `maxmemory` fits into the limit.
 * @returns the reason why the configured `maxmemory` does not fit, or why no `maxmemory` fits. Undefined if
 * `maxmemory` fits
 */
export function memoryProblem(demand: MemoryDemand): string | undefined {
  const plan = memoryPlan(demand);
  const wanted = demand.settings.maxmemory ?? plan.maxmemory;
  if (wanted > 0 && wanted <= plan.maxmemory) return undefined;
  const what = wanted === 0 ? "0, which means no limit" : formatBytes(wanted);
  return `${what}; expected at most ${describeMemory(plan)}`;
}

/**
 * Whether the server ever forks a child that reads all data. Such children write snapshots, synchronize replicas, and
 * migrate slots.
 */
function forks({ mode, shape, settings }: MemoryDemand): boolean {
  return writesToDisk(settings) || shape.replicasPerPrimary > 0 || mode === "cluster";
}

function copyOnWrite({ "maxmemory-policy": policy = "noeviction" }: ServerSettings): number {
  return policy === "noeviction" ? COPY_ON_WRITE.refusing : COPY_ON_WRITE.evicting;
}

function shareOf(
  bytes: number,
  part: { readonly share: number; readonly least?: number; readonly most?: number },
): number {
  return Math.min(part.most ?? Infinity, Math.max(part.least ?? 0, Math.floor(bytes * part.share)));
}
