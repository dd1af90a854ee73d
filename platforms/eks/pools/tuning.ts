/** Settings that user data promises of a pool's machines, in the words of verification. Pure. */
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { Tuning } from "../offers/machines";

/** File descriptors of every container, as many as the servers of "One billion requests per second" have. */
export const FILE_DESCRIPTORS = 1_048_544;

/** `tcp-backlog` of Valkey and Redis where it is not configured. */
const DEFAULT_BACKLOG = 511;

/** A server on a machine of a pool. */
export interface TunedServer {
  /** CPUs that the kubelet gives it alone on a pool with `staticCpus`; undefined where it would share them. */
  readonly wholeCpus: number | undefined;
  /** Its configured `tcp-backlog`. */
  readonly backlog: string | undefined;
}

/** @param server undefined for a load generator */
export function expectedTuning({ interruptCpus, staticCpus }: Tuning, server?: TunedServer): ExpectedTuning {
  const ownCpus = staticCpus ? server?.wholeCpus : undefined;
  return {
    openFiles: FILE_DESCRIPTORS,
    ...(server !== undefined && { acceptQueue: Number(server.backlog ?? DEFAULT_BACKLOG) }),
    ...(interruptCpus > 0 && { interruptCpus }),
    ...(ownCpus !== undefined && { ownCpus }),
  };
}
