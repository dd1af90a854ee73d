/** `npm run bench -- large-model` writes measured.json. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const pointSchema = z.strictObject({
  nodes: z.int().positive(),
  /** Duration of formation, seconds. All nodes run at its start, and report a healthy cluster at its end. */
  formationSeconds: z.number().positive(),
  /** Seconds to read the facts of all nodes and to compute the verdict. */
  verificationSeconds: z.number().positive(),
  /** Seconds without writes to a shard after SIGKILL of its primary, with the node timeout of this measurement. */
  outageSeconds: z.number().positive(),
  /** Seconds from the SIGKILL of a primary until every node sees that all slots are served again. */
  okSeconds: z.number().positive(),
  nodeTimeoutMs: z.number().positive(),
  /** Number of open files without load. The number is from the node with the most open files. */
  descriptors: z.int().positive(),
  /** Mean resident memory of a node, bytes. */
  residentBytes: z.number().positive(),
  /** Mean number of bytes that a node writes per second without load, with the given node timeout. */
  bus: z.strictObject({ nodeTimeoutMs: z.number().positive(), bytesPerNode: z.number().positive() }),
});
export type MeasuredCluster = z.infer<typeof pointSchema>;

const measuredClustersSchema = z.strictObject({
  /** The version of the servers. */
  version: z.string(),
  /** Number of cores that all nodes shared. */
  cores: z.int().positive(),
  points: z.array(pointSchema),
});
export type MeasuredClusters = z.infer<typeof measuredClustersSchema>;

export const MEASURED_CLUSTERS_FILE = join(__dirname, "measured.json");

let read: MeasuredClusters | undefined;

/** Undefined if the file does not exist. */
export function measuredClusters(): MeasuredClusters | undefined {
  if (read === undefined && existsSync(MEASURED_CLUSTERS_FILE)) {
    read = measuredClustersSchema.parse(JSON.parse(readFileSync(MEASURED_CLUSTERS_FILE, "utf8")));
  }
  return read;
}
