/** Configurations of stacks for tests: of the stack files, with other values, and of a small stack on the host. */
import { parseConfig } from "../../stacks/config/parse";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { applyOverrides } from "../../stacks/config/sections/overrides";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { readStackFile } from "../../stacks/config/sections/stack-file";

export const MACHINE = { cores: 2, memoryBytes: 16 * 2 ** 30 };

export const SMALL_STACK = {
  platform: { type: "host", zones: ["a", "b", "c"] },
  deployments: {
    replication: { mode: "replication", replicas: 2 },
    cluster: { mode: "cluster", primaries: 3, settings: { maxmemory: "256mb" } },
  },
  benchmark: { tests: ["set"], clients: 48, threads: 3, keySpace: 98_304, dataSize: 64 },
};

export const configOf = (stack: string, ...assignments: readonly string[]): StackConfig =>
  parseConfig(`stack ${stack}`, applyOverrides(readStackFile(STACKS_DIRECTORY, stack), assignments), MACHINE);
