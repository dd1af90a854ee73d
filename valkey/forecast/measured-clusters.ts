/** Clusters of many real nodes as they were measured: `npm run bench -- large-model` measures them and writes them down beside this file. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const pointSchema = z.strictObject({
  nodes: z.int().positive(),
  /** From nodes that run until every one says that all is well. */
  formationSeconds: z.number().positive(),
  /** Until the verdict, every node asked. */
  verificationSeconds: z.number().positive(),
  /** Of writes, after SIGKILL of a primary at this node timeout. */
  outageSeconds: z.number().positive(),
  /** After the same, until every node says that all slots are served. */
  okSeconds: z.number().positive(),
  nodeTimeoutMs: z.number().positive(),
  /** Open files of a node at rest, the most of any. */
  descriptors: z.int().positive(),
  /** Of a node, on average. */
  residentBytes: z.number().positive(),
  /** What a node writes per second at rest, on average, at that node timeout. */
  bus: z.strictObject({ nodeTimeoutMs: z.number().positive(), bytesPerNode: z.number().positive() }),
});
export type MeasuredCluster = z.infer<typeof pointSchema>;

export const measuredClustersSchema = z.strictObject({
  /** Of the servers. */
  version: z.string(),
  /** That all nodes shared. */
  cores: z.int().positive(),
  points: z.array(pointSchema),
});
export type MeasuredClusters = z.infer<typeof measuredClustersSchema>;

export const MEASURED_CLUSTERS_FILE = join(__dirname, "measured.json");

let read: MeasuredClusters | undefined;

/** @returns undefined where none were measured yet */
export function measuredClusters(): MeasuredClusters | undefined {
  if (read === undefined && existsSync(MEASURED_CLUSTERS_FILE))
    read = measuredClustersSchema.parse(JSON.parse(readFileSync(MEASURED_CLUSTERS_FILE, "utf8")));
  return read;
}
