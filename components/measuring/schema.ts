/** Checks the arguments of measuring components, and reports all problems at once, each with its path. */
import { type Problem, BadInput, problem } from "../../lib/errors";
import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { DEFAULT_LOAD_GENERATOR } from "../../benchmarks/workloads/mixed-workload-schema";
import { wholeNumber } from "../../lib/schema/fields";
import { isMap, toJsonSchema } from "../../lib/schema/json-schema";
import { type Label, describeIssues } from "../../lib/schema/problems";

/** Schema of an Input: a value of the given schema, or a value that a resource will produce. */
function input(schema: z.ZodType): z.ZodType {
  return z
    .unknown()
    .superRefine((value, context) => {
      if (pulumi.Output.isInstance(value) || value instanceof Promise || schema.safeParse(value).success) return;
      context.addIssue({ code: "invalid_value", values: [], message: "Invalid input" });
    })
    .meta(toJsonSchema(schema));
}

const text = z.string().min(1);
const texts = z.record(z.string(), z.string());

const externalNode = z.strictObject({
  host: input(text),
  port: input(wholeNumber(1, 65_535)).optional(),
  zone: input(text).optional(),
});

const externalTarget = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "expected lower-case letters, digits and hyphens"),
  mode: z.enum(["replication", "cluster"]),
  nodes: z.array(externalNode).min(1),
  primaries: wholeNumber(1, 16_384).optional(),
  replicasPerPrimary: wholeNumber(0, 1_000).optional(),
  username: input(text).optional(),
  password: input(z.string()).optional(),
  tls: z
    .strictObject({
      caCertificate: input(text).optional(),
      serverName: input(text).optional(),
      insecure: z.boolean().optional(),
    })
    .optional(),
  skippedAssertions: z.array(z.enum(["settings", "zones"])).optional(),
  overwriteKeys: z.boolean().optional(),
});

const loadGenerators = z.strictObject({
  runners: wholeNumber(1, 1_000).optional(),
  namespace: input(text).optional(),
  sharing: z.boolean().optional(),
  resources: z.strictObject({ requests: texts, limits: texts.optional() }).optional(),
  image: text.optional(),
  images: z.strictObject({ node: text.optional(), memtier: text.optional() }).optional(),
  imagePullPolicy: z.enum(["Always", "IfNotPresent"]).optional(),
  nodeSelector: texts.optional(),
  tolerations: z
    .array(
      z.strictObject({
        key: z.string().optional(),
        operator: z.enum(["Exists", "Equal"]).optional(),
        value: z.string().optional(),
        effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
      }),
    )
    .optional(),
  ownMachinesIn: z.array(text).min(1).optional(),
  tuning: z
    .strictObject({
      openFiles: wholeNumber(1, 1_000_000_000),
      acceptQueue: wholeNumber(1, 1_000_000_000).optional(),
      interruptCpus: wholeNumber(1).optional(),
      ownCpus: wholeNumber(1).optional(),
    })
    .optional(),
  labels: texts.optional(),
  imagePullSecrets: z.array(text).optional(),
  tls: z
    .strictObject({ secret: text, cacert: text.optional(), cert: text.optional(), key: text.optional() })
    .optional(),
});

export const measuringFields = {
  targets: z
    .array(z.unknown())
    .default([])
    .superRefine((targets, context) => {
      for (const [index, target] of targets.entries())
        if (!isDeployment(target))
          context.addIssue({
            code: "custom",
            path: [index],
            message: "expected a deployment such as a ValkeyCluster, with the outputs reference and password",
          });
    }),
  externalTargets: z.array(externalTarget).default([]),
  loadGenerators: loadGenerators.optional(),
  output: text.optional(),
  trigger: z.number().default(0),
  timeoutSeconds: wholeNumber(1, 86_400).default(600),
  configuration: z.unknown().optional(),
};

/** A path as text, such as `workloads.steady.rate`. */
export const dottedPath: Label = (path) => path.map(String).join(".");

/** Adds the default load generator to a mixed workload that names no load generator. */
export function withLoadGenerator(workload: unknown): unknown {
  return isMap(workload) ? { loadGenerator: DEFAULT_LOAD_GENERATOR, ...workload } : workload;
}

/** @param component type and name, for the message @throws BadInput with every problem */
export function checkedArgs<S extends z.ZodType>(
  component: string,
  schema: S,
  args: Readonly<Record<string, unknown>>,
): z.infer<S> {
  const parsed = schema.safeParse(args);
  const problems = parsed.success ? [] : describeIssues(schema, args, parsed.error.issues, dottedPath);
  problems.push(...targetProblems(args));
  if (!parsed.success || problems.length > 0) throw new BadInput(component, problems);
  return parsed.data;
}

/** At least one, with different names, because results identify targets by name. */
function targetProblems({ targets, externalTargets }: Readonly<Record<string, unknown>>): Problem[] {
  const external: unknown[] = Array.isArray(externalTargets) ? externalTargets : [];
  if (external.length === 0 && (!Array.isArray(targets) || targets.length === 0))
    return [problem("no-targets", "targets", " is empty: expected at least one deployment here or in externalTargets")];
  const names = external.map((each) => (isMap(each) ? each["name"] : undefined));
  return names.flatMap((name, index) =>
    name !== undefined && names.indexOf(name) < index
      ? [
          problem(
            "name-twice",
            `externalTargets.${index}.name`,
            ` is ${JSON.stringify(name)}, which is also the name of another target`,
          ),
        ]
      : [],
  );
}

function isDeployment(target: unknown): boolean {
  return isMap(target) && target["reference"] !== undefined && target["password"] !== undefined;
}
