/** How much of a memory limit a server's data may take, and what the rest is for. Pure. */
import { compact } from "../../lib/compact";
import { formatBytes } from "../../lib/units";
import type { ServerSettings } from "../settings/settings";
import type { Shape } from "../topology/placement";

const MIB = 1024 ** 2;

/** The server that is to live within a memory limit. */
export interface MemoryDemand {
  /** Limit of the container, bytes. */
  readonly limitBytes: number;
  readonly mode: "replication" | "cluster";
  readonly shape: Shape;
  readonly settings: ServerSettings;
}

/** A part of the limit that data must not take. */
export interface MemoryPart {
  readonly what: string;
  readonly bytes: number;
}

/** The division of a memory limit. The parts and `maxmemory` add up to the limit. */
export interface MemoryPlan {
  readonly limitBytes: number;
  /** The most that the limit carries, bytes; 0 where the parts leave nothing. */
  readonly maxmemory: number;
  readonly parts: readonly MemoryPart[];
}

/** Program, stacks of threads, allocator. */
const PROGRAM_BYTES = 16 * MIB;
/** Buffers of clients beside what the server counts as used: a burst of replies outruns eviction and refusals. */
const CLIENTS = { share: 1 / 32, least: 16 * MIB } as const;
/**
 * Stream that a replica has yet to receive while it synchronizes, and that of a slot that moves. Not counted as used;
 * replicas share theirs. A server holds its backlog in any case, and by default cuts off a replica only at the most.
 */
const STREAM = { share: 1 / 16, least: 16 * MIB, most: 256 * MIB } as const;
/** Memory that the allocator holds beyond the data, as a part of the data. */
const FRAGMENTATION = 0.1;
/**
 * Pages that clients change while a forked child reads the data, as a part of the data (docs/kubernetes.md, Memory). A server that
 * evicts goes on writing.
 */
const COPY_ON_WRITE = { refusing: 0.4, evicting: 0.6 } as const;

/** Divides a memory limit. */
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
 * Settings that keep a server within its limit, where they do not have them: `maxmemory`, and from which size on a
 * replica that does not keep up, or the migration of a slot, is cut off. The latter depends only on the limit: a change
 * of it restarts servers, which a change of the shape must not.
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

/** `601 MiB of the limit of 1.0 GiB; the rest is for program 16 MiB, client buffers 32 MiB, …` */
export function describeMemory({ limitBytes, maxmemory, parts }: MemoryPlan): string {
  const rest = parts.map(({ what, bytes }) => `${what} ${formatBytes(bytes)}`).join(", ");
  return `${formatBytes(maxmemory)} of the limit of ${formatBytes(limitBytes)}; the rest is for ${rest}`;
}

/** @returns why the limit cannot carry the configured `maxmemory`, or any; undefined where it can */
export function memoryProblem(demand: MemoryDemand): string | undefined {
  const plan = memoryPlan(demand);
  const wanted = demand.settings.maxmemory ?? plan.maxmemory;
  if (wanted > 0 && wanted <= plan.maxmemory) return undefined;
  const what = wanted === 0 ? "0, which is not a limit" : formatBytes(wanted);
  return `${what}; the pod carries ${describeMemory(plan)}`;
}

/** Whether the server ever forks a child that reads all data: for snapshots, replicas and slots that move. */
function forks({ mode, shape, settings }: MemoryDemand): boolean {
  const persists = settings.save !== "" || settings.appendonly === true;
  return persists || shape.replicasPerPrimary > 0 || mode === "cluster";
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
