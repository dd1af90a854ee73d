/** Lets users log in by new passwords beside the former ones, before anything else of the deployment changes. */
import { compact } from "../../lib/compact";
import { BadInput, Failure, isCausedBy, messageOf } from "../../lib/errors";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../platforms/deployment-reference";
import { publishOverlap } from "../../platforms/kubernetes/access/password-overlap";
import { runningServers } from "../../platforms/kubernetes/pods/pods";
import {
  acceptedPasswords,
  addAccess,
  differingAccess,
  requireAcceptableRules,
} from "../../valkey/access/apply-access";
import type { DesiredRules } from "../../valkey/access/read-users";
import type { Credentials, Users } from "../../valkey/access/users";
import {
  aclFile,
  DEFAULT_USER,
  isOwnUser,
  passwordProblem,
  passwordsDiffer,
  rulesProblem,
  userNameProblem,
} from "../../valkey/access/users";
import { PasswordRefused } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import { nodeCount } from "../../valkey/topology/placement";
import { canonicalJson } from "../protocol/engine-values";
import type { HandlerContext, InputProblem, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface AccessInputs extends Credentials {
  readonly target: DeploymentReference;
  /** How long two passwords are valid: see `PasswordRetirement`. */
  readonly overlapSeconds: number;
  /** Time limit for nodes to answer. */
  readonly timeoutSeconds: number;
}

export interface AccessOutputs {
  /** When nodes were last told, ISO 8601; empty when never. */
  readonly changedAt: string;
  /** Differences that `pulumi refresh` found, a sentence each; empty when there are none. */
  readonly drift: readonly string[];
}

/** Nodes that do not answer within this do not run. */
const MOST_SECONDS = 60;
/**
 * The kubelet writes a changed Secret into running pods when it looks at each pod again: after 60 s, and up to half as
 * long again at random. Probes and preStop scripts have the former password until then.
 */
export const MIN_OVERLAP_SECONDS = 90;
const MAX_OVERLAP_SECONDS = 3600;

/** Rules by user. A preview knows them where a password has yet to be made. */
function rulesIn(target: DeploymentReference | undefined): DesiredRules {
  return target?.platform === "kubernetes" ? (target.users ?? {}) : {};
}

function problemsOf({ target, password, users = {}, overlapSeconds }: Partial<AccessInputs>): InputProblem[] {
  const isPlain = target?.platform === "kubernetes" && target.sentinel !== undefined;
  const passwords = Object.entries(users).map(([name, user]) => [`users.${name}.password`, user.password] as const);
  const problems = [["password", password] as const, ...passwords].flatMap(([property, value]): InputProblem[] => {
    // A value that another resource has yet to make is undefined.
    const problem = typeof value === "string" ? passwordProblem(value, isPlain && property === "password") : undefined;
    return problem === undefined ? [] : [{ property, reason: problem }];
  });
  for (const [name, rules] of Object.entries(rulesIn(target))) {
    const found = [
      [`users.${name}`, userNameProblem(name)],
      [`users.${name}.rules`, rulesProblem(rules)],
    ] as const;
    problems.push(...found.flatMap(([property, reason]) => (reason === undefined ? [] : [{ property, reason }])));
  }
  const [least, most] = [MIN_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS];
  if (
    target?.platform === "kubernetes" &&
    overlapSeconds !== undefined &&
    !(overlapSeconds >= least && overlapSeconds <= most)
  )
    problems.push({
      property: "passwordOverlapSeconds",
      reason: `is ${overlapSeconds}; expected ${least} to ${most}: pods read a new password up to ${least} s late`,
    });
  return problems;
}

/** @throws Failure when nodes do not run, or accept neither password */
async function openNodes(olds: AccessInputs, password: string, context: HandlerContext): Promise<Deployment> {
  const options = waitOptions(olds.target.name, Math.min(olds.timeoutSeconds, MOST_SECONDS), context);
  try {
    return await openDeployment(olds.target, password, options, olds.password);
  } catch (error) {
    if (error instanceof BadInput) throw error;
    const remedy = isCausedBy(error, PasswordRefused)
      ? "it is neither the new password nor the one on record, so somebody changed it on the servers: " +
        "give the one that the servers accept as `password`"
      : "users and passwords change on all nodes or on none: run the update again when all nodes answer";
    throw new Failure(`${messageOf(error)}\nNothing has changed; ${remedy}`, { cause: error });
  }
}

async function tellNodes(
  olds: AccessInputs,
  news: AccessInputs,
  context: HandlerContext,
  attempts: readonly AccessInputs[],
): Promise<AccessOutputs> {
  const { target } = olds;
  const former = [olds, ...attempts];
  const deployment = await openNodes(olds, news.password, context);
  await requireAcceptableRules(deployment, news);
  if (target.platform === "kubernetes" && former.some((each) => passwordsDiffer(each, news))) {
    const users = aclFile(news, await acceptedPasswords(deployment));
    await publishOverlap(await openKubernetesClient(target), target.namespace, target.name, users);
  }
  await addAccess(deployment, news, await removedUsers(former, news, deployment));
  return { changedAt: new Date().toISOString(), drift: [] };
}

/** Users that are configured no more, and those that somebody made by hand beside configured ones. */
async function removedUsers(
  former: readonly AccessInputs[],
  { users }: AccessInputs,
  deployment: Deployment,
): Promise<string[]> {
  const found = Object.keys(users).length === 0 ? [] : [...(await acceptedPasswords(deployment)).keys()];
  const names = new Set([...former.flatMap((each) => Object.keys(each.users)), ...found]);
  return [...names].filter((name) => name !== DEFAULT_USER && !isOwnUser(name) && !(name in users));
}

/** Whether a server of an earlier update runs, ready or not. Where none does, they read their users when they start. */
async function anyServerRuns({ target }: AccessInputs): Promise<boolean> {
  if (target.platform !== "kubernetes") return true;
  return (await runningServers(await openKubernetesClient(target), target)).length > 0;
}

/**
 * A failure before the first server is told leaves at most the Secret of the overlap. One after it leaves servers that accept the
 * new passwords beside the former ones, users with new rules on some servers, and, on some, a primary's password that all servers accept
 * already. Nothing else of the deployment has changed. The next update tells all servers again; `PasswordRetirement` then has them
 * refuse the passwords that were taken back, and deletes the Secret.
 */
export const handler: ResourceHandler<AccessInputs, AccessOutputs> = {
  check: (_olds, news) => Promise.resolve(problemsOf(news)),
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: { changedAt: "", drift: [] } }),
  recordsAttempts: true,
  update: async (_id, olds, news, context, attempts = []) => {
    const { changedAt, drift } = olds;
    const same = [olds, ...attempts].every(
      (each) => canonicalJson([each.password, each.users]) === canonicalJson([news.password, news.users]),
    );
    if ((same && drift.length + attempts.length === 0) || !(await anyServerRuns(olds))) return { changedAt, drift: [] };
    return tellNodes(olds, news, context, attempts);
  },
  read: async (_id, { target, password, users, changedAt, drift }, { signal }) => {
    try {
      const deployment = await openDeployment(target, password, { timeoutMs: 15_000, signal });
      return { changedAt, drift: await differingAccess(deployment, { password, users }) };
    } catch (error) {
      // The check of the topology reports what does not answer. What an earlier refresh found is not known to be mended.
      return { changedAt, drift: isCausedBy(error, PasswordRefused) ? [messageOf(error)] : drift };
    }
  },
  drifted: ({ drift }) => drift.length > 0,
  describeChange: (olds, { target = olds.target, password, users, overlapSeconds = olds.overlapSeconds }) => {
    const nodes = `${nodeCount(target.shape)} running nodes`;
    const changed = users === undefined ? [] : Object.keys(users).filter((name) => hasOtherPassword(olds, users, name));
    const others = compact([password === olds.password ? undefined : "", ...changed.map((name) => ` of ${name}`)]);
    return [
      ...others.map(
        (whose) =>
          `a new password${whose}: valid on ${nodes} beside the old one, which is revoked after ` +
          `${overlapSeconds} s; no restart, clients see nothing if they use the new one by then`,
      ),
      ...describeUsers(rulesIn(olds.target), rulesIn(target), nodes),
    ];
  },
};

function hasOtherPassword({ users: before }: AccessInputs, users: Users, name: string): boolean {
  const former = before[name]?.password;
  return former !== undefined && former !== users[name]?.password;
}

/** Changes of users, a sentence each. */
function describeUsers(before: DesiredRules, after: DesiredRules, nodes: string): string[] {
  // As measured: docs/access.md.
  const nothing = "in about 20 s; no restart, other clients see nothing";
  const told = Object.entries(after).flatMap(([name, rules]) => {
    const former = before[name];
    if (former === rules) return [];
    return [
      `user ${name}: ${former === undefined ? "added" : "may do other things"} on ${nodes}, ${rules}, ${nothing}`,
    ];
  });
  const removed = Object.keys(before).filter((name) => !(name in after));
  return [
    ...told,
    ...removed.map((name) => `user ${name}: deleted on ${nodes}, and its connections are closed, ${nothing}`),
  ];
}
