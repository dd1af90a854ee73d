import { z } from "zod";
import { wholeNumber, recordName } from "../../lib/schema/fields";
import { isMap } from "../../lib/schema/json-schema";
import { valueBytes } from "./mixed-workload-schema";
import { type TestName, resolveTests, TEST_ALIASES, TEST_NAMES } from "./named-tests";

export const DEFAULT_DURATION_SECONDS = 10;

export const DEFAULT_TESTS: readonly TestName[] = ["set", "get", "incr"];

const tests = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(","))])
  .transform((names, context) => {
    const { tests: resolved, unknown } = resolveTests(names);
    const known = [...TEST_NAMES, ...Object.keys(TEST_ALIASES)].join(", ");
    for (const name of unknown) {
      context.addIssue({ code: "custom", message: `${name} is not one of valkey-benchmark's tests: ${known}` });
    }
    if (names.length === 0) context.addIssue({ code: "custom", message: "expected at least one test" });
    return unknown.length > 0 ? z.NEVER : resolved;
  });

/**
 * The options of a benchmark. They set how named tests are sent, how long each measurement takes, and how often each
 * measurement is repeated.
 */
export const benchmarkFields = {
  /** Name of the workload in the results. @default the deployment's name */
  workloadName: recordName.optional(),
  /**
   * Tests of valkey-benchmark: a list, or a text with commas.
   * @default set, get and incr; no tests if the stack has `valkey:workloads`
   */
  tests: tests.optional(),
  /** Number of connections. In cluster mode it must be a multiple of the number of primaries, and of `threads`. */
  clients: wholeNumber(1, 100_000).default(48),
  /** Requests in flight per connection. */
  pipeline: wholeNumber(1, 10_000).default(16),
  /** Value size. @unit bytes */
  dataSize: valueBytes.default(256),
  /**
   * Number of threads of the load generator. In cluster mode, a number above the number of primaries must be a multiple
   * of the number of primaries.
   */
  threads: wholeNumber(1, 500).default(3),
  /**
   * Whether the program changes `clients` and `threads` to values that the primaries of every cluster can share evenly.
   * If false, other values are an error.
   */
  adjustLoad: z.boolean().default(false),
  /** Number of distinct keys. If a deployment is a cluster, the number is rounded to a multiple of 16384. */
  keySpace: wholeNumber(1, 1_000_000_000).default(1_000_000),
  /** Duration of each measurement. @unit seconds @default 10, unless `requests` is set */
  duration: wholeNumber(1, 86_400).optional(),
  /** Number of requests of each measurement, instead of a duration. @default `duration` applies */
  requests: wholeNumber(1, 2_000_000_000).optional(),
  /** Duration of the load that is sent before each measurement and is not part of the results. @unit seconds */
  warmup: wholeNumber(0, 3600).default(1),
  /**
   * Number of rounds. Each round measures every test on every deployment once. Confidence intervals of 95 % need six
   * rounds.
   */
  repeats: wholeNumber(1, 1000).default(3),
  /** Offered rate of all connections together. @unit requests per second @default unlimited */
  rate: wholeNumber(1, 1_000_000_000).optional(),
};

/** The parsed options of a benchmark. */
export type BenchmarkSettings = Omit<z.infer<z.ZodObject<typeof benchmarkFields>>, "tests"> & {
  readonly tests: readonly TestName[];
};

/** Whether a benchmark sets at most one length of its measurements: a number of seconds, or a number of requests. */
export function hasOneLength({ duration, requests }: Pick<BenchmarkSettings, "duration" | "requests">): boolean {
  return duration === undefined || requests === undefined;
}

export const TWO_LENGTHS = {
  path: ["requests"],
  message: "expected a duration or a number of requests, not both",
  when: ({ value }: { readonly value: unknown }): boolean => isMap(value),
};
