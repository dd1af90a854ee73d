/**
 * Problems of the plain arguments of a deployment. A program without a type checker, or a provider in another language,
 * can give any value. A value that another resource computes is not known yet, and is not checked. Pure.
 */
import { type Problem, problem } from "../../../lib/errors";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { DEPLOYMENT_FIELDS, VALKEY_FIELDS } from "../../../model/deployment";
import { fieldProblems } from "../../../model/fields";
import { POD_FIELDS, VALKEY_POD_FIELDS } from "../../../model/pods";
import type { Shape } from "../../../valkey/topology/placement";
import type { DeploymentArgs, Resources } from "../arguments";

/** Arguments that are checked. Each component has some of them. */
export type PlainArguments = Partial<DeploymentArgs> & {
  readonly image: string;
  readonly resources: Resources;
  readonly maxLagSeconds?: number | undefined;
};

type Unchecked = Omit<PlainArguments, "resources"> & { readonly shape: Shape; readonly resources: Partial<Resources> };
const FIELDS = { ...DEPLOYMENT_FIELDS, ...VALKEY_FIELDS, ...POD_FIELDS, ...VALKEY_POD_FIELDS };

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

/** Problems of the arguments, each with the path of the argument. */
export function argumentProblems(args: Unchecked): Problem[] {
  const { requests, limits } = args.resources;
  const required: [path: string, value: unknown, rule: Rule][] = [
    ["shape", args.shape, [() => false, "{ primaries, replicasPerPrimary }"]],
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
  const own = [...required, ...optional.filter(([, value]) => value !== undefined)].flatMap(([path, value, rule]) => {
    const isComputed = typeof value === "object" && value !== null && !Array.isArray(value);
    const [isRight, expected] = rule;
    if (isComputed || isRight(value)) return [];
    const found = value === undefined ? "missing" : JSON.stringify(value);
    return [problem("wrong-value", path, ` is ${found}; expected ${expected}`)];
  });
  return [...own, ...fieldProblems(FIELDS, args)];
}
