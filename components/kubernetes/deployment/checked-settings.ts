/**
 * As in a stack file: the same schema, directives and memory limit. Adds `maxmemory` and the limit of replication
 * buffers, which depend on the memory limit.
 */
import { compact } from "../../../lib/compact";
import { type Problem, BadInput, problem, within } from "../../../lib/errors";
import { describeIssues } from "../../../lib/schema/problems";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { settingProblems } from "../../../valkey/settings/settings-problems";
import { settingsSchema } from "../../../valkey/settings/settings-schema";
import type { MemoryDemand } from "../../../valkey/planning/memory-plan";
import { describeMemory, memoryPlan, memoryProblem, withinMemory } from "../../../valkey/planning/memory-plan";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { tagOf } from "../../../valkey/settings/version";
import type { Resources } from "../arguments";
import type { DeploymentKind } from "../deployment-context";
import { type PlainArguments, argumentProblems } from "./argument-problems";

interface CheckedSettings {
  /** Sizes are in bytes. */
  readonly settings: ServerSettings;
  readonly derived: readonly string[];
}

interface Particulars {
  /** Names of arguments that only this component has. */
  readonly own: readonly string[];
  /** Problems of arguments that only some deployments have, by the name of the argument. */
  readonly others?: Readonly<Record<string, () => readonly Problem[]>>;
}

/**
 * Checks the settings and the other plain arguments.
 * @throws BadInput with every problem
 */
export function checkedSettings(
  deployment: string,
  kind: Pick<DeploymentKind, "engine" | "mode" | "shape">,
  request: PlainArguments,
  { own, others = {} }: Particulars,
): CheckedSettings {
  const { settings = {}, newerDirectives, oversubscribed = false, image, resources } = request;
  const plain = argumentProblems(request, kind.shape, own);
  if (plain.some(({ path }) => path === "shape")) throw new BadInput(deployment, plain);
  const parsed = settingsSchema.safeParse(settings);
  const label = (path: readonly PropertyKey[]): string => ["settings", ...path.map(String)].join(".");
  const demand = parsed.success && plain.length === 0 ? memoryDemand(kind, resources, parsed.data) : undefined;
  const tooMuch = demand === undefined || oversubscribed ? undefined : memoryProblem(demand);
  const memoryPath = settings.maxmemory === undefined ? "resources.limits.memory" : "settings.maxmemory";
  const problems = compact([
    ...plain,
    // An argument of a wrong form is not checked further.
    ...Object.entries(others).flatMap(([name, find]) =>
      plain.some(({ path }) => path === name) ? [] : within(name, find()),
    ),
    ...(parsed.success ? [] : describeIssues(settingsSchema, settings, parsed.error.issues, label)),
    ...within(
      "settings",
      settingProblems(settings, {
        ...{ engine: kind.engine, version: tagOf(image), newerDirectives },
        replicas: kind.shape.replicasPerPrimary,
      }),
    ),
    tooMuch === undefined
      ? undefined
      : problem("memory-exceeds-pod", memoryPath, `${tooMuch}. Lower maxmemory, or raise resources.limits.memory`),
  ]);
  if (!parsed.success || problems.length > 0) throw new BadInput(deployment, problems);
  if (demand === undefined) return { settings: parsed.data, derived: [] };
  return {
    settings: withinMemory(demand),
    derived: parsed.data.maxmemory === undefined ? [`maxmemory: ${describeMemory(memoryPlan(demand))}`] : [],
  };
}

/** Undefined if the memory limit is not known yet, and for Dragonfly, which does not fork. */
function memoryDemand(
  { engine, mode, shape }: Pick<DeploymentKind, "engine" | "mode" | "shape">,
  { limits }: Resources,
  settings: ServerSettings,
): MemoryDemand | undefined {
  if (engine === "dragonfly" || typeof limits.memory !== "string") return undefined;
  return { limitBytes: parseQuantity(limits.memory), mode, shape, settings };
}
