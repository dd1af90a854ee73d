/**
 * Problems of the plain arguments of a deployment. A program without a type checker, or a provider in another language,
 * can give any value. A value that another resource computes is not known yet, and is not checked. Pure.
 */
import * as z from "zod";
import { type Problem, problem } from "../../../lib/errors";
import { describeIssues } from "../../../lib/schema/problems";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { DEPLOYMENT_FIELDS, VALKEY_FIELDS } from "../../../model/deployment";
import { METRICS_FIELDS, POD_FIELDS, VALKEY_POD_FIELDS } from "../../../model/pods";
import type { Shape } from "../../../valkey/topology/placement";
import type { DeploymentArgs, Resources } from "../arguments";

/** Arguments that are checked. Each component has some of them. */
export type PlainArguments = Partial<DeploymentArgs> & {
  readonly image: string;
  readonly resources: Resources;
  readonly maxLagSeconds?: number | undefined;
};

type Unchecked = Omit<PlainArguments, "resources"> & { readonly resources: Partial<Resources> };

/** An argument that a rule below or a different module checks, or that a resource computes. */
const ANY = z.unknown().optional();
const MAP = z.looseObject({}).optional();
const LIST = z.array(z.unknown()).optional();
const FLAG = z.boolean().optional();
const TEXT = z.string().optional();

/** Form of every argument. A key that is not here is refused, because it would have no effect. */
const ARGUMENTS = {
  ...{ ...DEPLOYMENT_FIELDS, ...VALKEY_FIELDS, ...POD_FIELDS, ...VALKEY_POD_FIELDS },
  ...{ namespace: ANY, zones: ANY, image: ANY, timeoutSeconds: ANY, settings: ANY },
  ...{ kubeconfig: ANY, password: ANY, users: ANY },
  ...{ context: TEXT, clusterDomain: TEXT, trigger: z.number().optional() },
  ...{ passwordSecret: MAP, backup: MAP, restoreFrom: MAP, tuning: MAP },
  controller: z.union([z.boolean(), z.looseObject({})]).optional(),
  metrics: z.strictObject(METRICS_FIELDS).optional(),
  access: z.strictObject({ nodes: LIST, clients: LIST, monitoring: LIST }).optional(),
  resources: z.strictObject({ requests: MAP, limits: MAP }).optional(),
  storage: z.strictObject({ ephemeral: FLAG, className: ANY, size: ANY, onDestroy: ANY }).optional(),
  placement: z
    .strictObject({ ownMachines: FLAG, hostAntiAffinity: ANY, oneMachine: FLAG, nodeSelector: MAP, tolerations: LIST })
    .optional(),
} satisfies Record<keyof DeploymentArgs, z.ZodType>;

type Rule = readonly [isRight: (value: unknown) => boolean, expected: string];

const text = (pattern: RegExp, expected: string): Rule => [
  (value) => typeof value === "string" && pattern.test(value),
  expected,
];
const oneOf = (...names: readonly string[]): Rule => text(new RegExp(`^(${names.join("|")})$`), names.join(" or "));
const seconds = (least: number, most: number): Rule => [
  (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  `a whole number of seconds from ${least} to ${most}`,
];
const quantity = (example: string): Rule => [
  (value) => typeof value === "string" && parseQuantity(value) > 0,
  `a Kubernetes quantity such as ${example}`,
];
const [SIZE, CPU] = [quantity("20Gi or 512Mi"), quantity("2 or 500m")] as const;
const LABEL = /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const ZONES: Rule = [
  (value) => Array.isArray(value) && value.every((zone) => typeof zone === "string" && LABEL.test(zone)),
  'a list of zones such as ["us-west-2a", "us-west-2b"]',
];
const NAME = text(
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  "lower-case letters, digits and hyphens, at most 63 characters",
);
const CLASS = text(/^([a-z0-9][a-z0-9.-]{0,252})?$/, "the name of a storage class");
const IMAGE = text(
  /^[a-z0-9][\w.:/-]*:(?!latest(@|$))\w[\w.-]{0,127}(@sha256:[0-9a-f]{64})?$/i,
  "[REGISTRY/]REPOSITORY:TAG[@sha256:DIGEST] with a fixed tag, not latest",
);

/**
 * Problems of the arguments, each with the path of the argument.
 * @param own names of arguments that only this component has
 */
export function argumentProblems(args: Unchecked, shape: Shape, own: readonly string[]): Problem[] {
  return [...ruleProblems(args, shape), ...formProblems(args, own)];
}

function formProblems(args: Unchecked, own: readonly string[]): Problem[] {
  const schema = z.strictObject({ ...ARGUMENTS, ...Object.fromEntries(own.map((name) => [name, ANY])) });
  const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
  const parsed = schema.safeParse(given);
  if (parsed.success) return [];
  return describeIssues(schema, given, parsed.error.issues, (path) => path.map(String).join("."));
}

function ruleProblems(args: Unchecked, shape: Shape): Problem[] {
  const { requests, limits } = args.resources;
  const required: [path: string, value: unknown, rule: Rule][] = [
    ["shape", shape, [() => false, "{ primaries, replicasPerPrimary }"]],
    ["zones", args.zones, ZONES],
    ["image", args.image, IMAGE],
    ["resources.requests.cpu", requests?.cpu, CPU],
    ["resources.requests.memory", requests?.memory, SIZE],
    ["resources.limits.cpu", limits?.cpu, CPU],
    ["resources.limits.memory", limits?.memory, SIZE],
  ];
  const optional: typeof required = [
    ["namespace", args.namespace, NAME],
    ["storage.size", args.storage?.size, SIZE],
    ["storage.className", args.storage?.className, CLASS],
    ["storage.onDestroy", args.storage?.onDestroy, oneOf("keep", "delete")],
    ["placement.hostAntiAffinity", args.placement?.hostAntiAffinity, oneOf("required", "preferred", "none")],
    ["timeoutSeconds", args.timeoutSeconds, seconds(1, 86_400)],
    ["maxLagSeconds", args.maxLagSeconds, seconds(1, 3600)],
  ];
  return [...required, ...optional.filter(([, value]) => value !== undefined)].flatMap(([path, value, rule]) => {
    const isComputed = typeof value === "object" && value !== null && !Array.isArray(value);
    const [isRight, expected] = rule;
    if (isComputed || isRight(value)) return [];
    const found = value === undefined ? "missing" : JSON.stringify(value);
    return [problem("wrong-value", path, ` is ${found}; expected ${expected}`)];
  });
}
