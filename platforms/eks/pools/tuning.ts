/**
 * Settings that the boot script (user data) makes on a pool's machines, in the form that verification expects. Pure.
 */
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { Tuning } from "../offers/machines";

/**
 * Number of file descriptors of every container. The published document "One billion requests per second" uses the same
 * number for its servers.
 */
export const FILE_DESCRIPTORS = 1_048_544;

/** Default of `tcp-backlog` in Valkey and Redis. */
const DEFAULT_BACKLOG = 511;

/** A server on a machine of a pool. */
export interface TunedServer {
  /** Number of exclusive CPUs that the server gets on a pool with `staticCpus`; undefined if it shares CPUs. */
  readonly wholeCpus: number | undefined;
  /** Configured `tcp-backlog` of the server. */
  readonly backlog: string | undefined;
}

/** Expected settings of a machine of a pool. @param server the server on the machine; undefined for a load generator */
export function expectedTuning({ interruptCpus, staticCpus }: Tuning, server?: TunedServer): ExpectedTuning {
  const ownCpus = staticCpus ? server?.wholeCpus : undefined;
  return {
    openFiles: FILE_DESCRIPTORS,
    ...(server !== undefined && { acceptQueue: Number(server.backlog ?? DEFAULT_BACKLOG) }),
    ...(interruptCpus > 0 && { interruptCpus }),
    ...(ownCpus !== undefined && { ownCpus }),
  };
}
