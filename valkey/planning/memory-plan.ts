import { compact } from "../../lib/compact";
import { formatBytes } from "../../lib/units";
import { type ServerSettings, writesToDisk } from "../settings/settings";
import type { Shape } from "../topology/placement";

const MIB = 1024 ** 2;

export interface MemoryDemand {
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

const PROGRAM_BYTES = 16 * MIB;
/** Buffers are not counted as used memory, and can fill faster than the server evicts keys or refuses commands. */
const CLIENTS = { share: 1 / 32, least: 16 * MIB } as const;
/**
 * For replicas and targets of slot migrations; not counted as used memory. All replicas share one stream with the
 * backlog, and by default a replica is disconnected only when it is as large as `most`.
 */
const STREAM = { share: 1 / 16, least: 16 * MIB, most: 256 * MIB } as const;
/** Memory that the allocator needs in addition to the data, as a fraction of the data. */
const FRAGMENTATION = 0.1;
/**
 * Fraction of the data (docs/kubernetes.md, Memory): pages that change while a forked child reads are copied. A server
 * that evicts keys needs more than one that refuses writes, because it continues to accept writes.
 */
const COPY_ON_WRITE = { refusing: 0.4, evicting: 0.6 } as const;

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
 * Also the buffer size at which a slow replica is disconnected. It restarts servers, so it depends only on the limit: a
 * change of the shape must not restart servers.
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

/** Such as `601 MiB of the memory limit of 1.0 GiB; the rest is for program 16 MiB, client buffers 32 MiB, …` */
export function describeMemory({ limitBytes, maxmemory, parts }: MemoryPlan): string {
  const rest = parts.map(({ what, bytes }) => `${what} ${formatBytes(bytes)}`).join(", ");
  return `${formatBytes(maxmemory)} of the memory limit of ${formatBytes(limitBytes)}; the rest is for ${rest}`;
}

/** @returns the reason why the configured `maxmemory` does not fit, or why no `maxmemory` fits. */
export function memoryProblem(demand: MemoryDemand): string | undefined {
  const plan = memoryPlan(demand);
  const wanted = demand.settings.maxmemory ?? plan.maxmemory;
  if (wanted > 0 && wanted <= plan.maxmemory) return undefined;
  if (plan.maxmemory <= 0) return `no data fits; maxmemory would be ${describeMemory(plan)}`;
  return `${wanted === 0 ? "0, which means no limit" : formatBytes(wanted)}; expected at most ${describeMemory(plan)}`;
}

/** Forked children read all data: they write snapshots, synchronize replicas, and migrate slots. */
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
