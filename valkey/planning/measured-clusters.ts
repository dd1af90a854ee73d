/** Measurements of clusters of many nodes. `npm run bench -- large-model` measures them and writes measured.json. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const pointSchema = z.strictObject({
  nodes: z.int().positive(),
  /** Seconds from the start of formation, when all nodes run, until all of them report a healthy cluster. */
  formationSeconds: z.number().positive(),
  /** Seconds to read the facts of all nodes and to compute the verdict. */
  verificationSeconds: z.number().positive(),
  /** Seconds without writes to a shard after SIGKILL of its primary, with the node timeout of this measurement. */
  outageSeconds: z.number().positive(),
  /** Seconds from the SIGKILL of a primary until every node sees that all slots are served again. */
  okSeconds: z.number().positive(),
  nodeTimeoutMs: z.number().positive(),
  /** Number of open files without load, on the node that has the most. */
  descriptors: z.int().positive(),
  /** Mean resident memory of a node, bytes. */
  residentBytes: z.number().positive(),
  /** Mean number of bytes that a node writes per second without load, with the given node timeout. */
  bus: z.strictObject({ nodeTimeoutMs: z.number().positive(), bytesPerNode: z.number().positive() }),
});
/** One measured cluster. */
export type MeasuredCluster = z.infer<typeof pointSchema>;

/** The schema of measured.json. */
export const measuredClustersSchema = z.strictObject({
  /** The version of the servers. */
  version: z.string(),
  /** The cores that all nodes shared. */
  cores: z.int().positive(),
  points: z.array(pointSchema),
});
/** The content of measured.json. */
export type MeasuredClusters = z.infer<typeof measuredClustersSchema>;

/** The path of measured.json. */
export const MEASURED_CLUSTERS_FILE = join(__dirname, "measured.json");

let read: MeasuredClusters | undefined;

/** The measurements, read once; undefined when there are none. */
export function measuredClusters(): MeasuredClusters | undefined {
  if (read === undefined && existsSync(MEASURED_CLUSTERS_FILE)) {
    read = measuredClustersSchema.parse(JSON.parse(readFileSync(MEASURED_CLUSTERS_FILE, "utf8")));
  }
  return read;
}
