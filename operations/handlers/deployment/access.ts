/** Before anything else of a deployment changes, servers accept new passwords in addition to the former ones. */
import { type Problem, BadInput, Failure, isCausedBy, messageOf, problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import { type DeploymentReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import { publishOverlap } from "../../../platforms/kubernetes/access/overlap-secret";
import { runningServers } from "../../../platforms/kubernetes/pods/running-pods";
import {
  acceptedPasswords,
  addAccess,
  differingAccess,
  requireAcceptableRules,
} from "../../../valkey/access/apply-access";
import type { DesiredRules } from "../../../valkey/access/read-users";
import type { Credentials, Users } from "../../../valkey/access/users";
import {
  aclFile,
  DEFAULT_USER,
  isOwnUser,
  passwordProblem,
  passwordsDiffer,
  rulesProblem,
  userNameProblem,
} from "../../../valkey/access/users";
import { PasswordRefused } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { nodeCount } from "../../../valkey/topology/placement";
import { canonicalJson } from "../../protocol/engine-values";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { openForUpdate, openToLook } from "../../protocol/opening";

export interface AccessInputs extends Credentials {
  readonly target: DeploymentReference;
  readonly overlapSeconds: number;
  readonly timeoutSeconds: number;
}

export interface AccessOutputs {
  /** Time when users and passwords were last set on the nodes, ISO 8601; empty if they were never set. */
  readonly changedAt: string;
  /** Differences that `pulumi refresh` found, one sentence for each; empty if it found no differences. */
  readonly drift: readonly string[];
}

const MOST_SECONDS = 60;
/**
 * The kubelet writes a changed Secret into a running pod after 60 s plus up to 30 s. Until then, probes and preStop
 * scripts use the former password.
 */
export const MIN_OVERLAP_SECONDS = 90;
const MAX_OVERLAP_SECONDS = 3600;

/** A preview knows these rules even if a password is not generated yet. */
function rulesIn(target: DeploymentReference | undefined): DesiredRules {
  return target?.platform === "kubernetes" ? (target.users ?? {}) : {};
}

function problemsOf({ target, password, users = {}, overlapSeconds }: Partial<AccessInputs>): Problem[] {
  const isPlain = target?.platform === "kubernetes" && target.sentinel !== undefined;
  const passwords = Object.entries(users).map(([name, user]) => [`users.${name}.password`, user.password] as const);
  const problems = [["password", password] as const, ...passwords].flatMap(([property, value]): Problem[] => {
    // The value is undefined if it comes from a resource that does not exist yet.
    const why = typeof value === "string" ? passwordProblem(value, isPlain && property === "password") : undefined;
    return why === undefined ? [] : [problem("wrong-password", property, why)];
  });
  for (const [name, rules] of Object.entries(rulesIn(target))) {
    const found = [
      ["wrong-name", `users.${name}`, userNameProblem(name)],
      ["wrong-rules", `users.${name}.rules`, rulesProblem(rules)],
    ] as const;
    problems.push(...found.flatMap(([code, path, why]) => (why === undefined ? [] : [problem(code, path, why)])));
  }
  const [least, most] = [MIN_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS];
  if (
    target?.platform === "kubernetes" &&
    overlapSeconds !== undefined &&
    !(overlapSeconds >= least && overlapSeconds <= most)
  )
    problems.push(
      problem(
        "out-of-range",
        "passwordOverlapSeconds",
        `is ${overlapSeconds}; expected ${least} to ${most}, because pods read a new password up to ${least} s late`,
      ),
    );
  return problems;
}

const passwordsIn = ({ password, users, sentinelPassword = "" }: AccessInputs): unknown => ({
  ...{ password, users, sentinelPassword },
});

/** @throws Failure when nodes do not run, or accept neither the new nor the former password */
async function openNodes(olds: AccessInputs, password: string, context: HandlerContext): Promise<Deployment> {
  const timeoutSeconds = Math.min(olds.timeoutSeconds, MOST_SECONDS);
  try {
    return (await openForUpdate({ target: olds.target, password, timeoutSeconds }, context, olds.password)).deployment;
  } catch (error) {
    if (error instanceof BadInput) throw error;
    const remedy = isCausedBy(error, PasswordRefused)
      ? "servers accept neither the new password nor the last known one, so somebody changed the password on the servers: " +
        "set `password` to the password that the servers accept"
      : "a change of users or passwords needs all nodes: run the update again when all nodes answer";
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

/** If any user is configured, users that somebody created by hand are deleted as well. */
async function removedUsers(
  former: readonly AccessInputs[],
  { users }: AccessInputs,
  deployment: Deployment,
): Promise<string[]> {
  const found = Object.keys(users).length === 0 ? [] : [...(await acceptedPasswords(deployment)).keys()];
  const names = new Set([...former.flatMap((each) => Object.keys(each.users)), ...found]);
  return [...names].filter((name) => name !== DEFAULT_USER && !isOwnUser(name) && !(name in users));
}

/** Ready or not. If none runs, nothing needs to be set, because servers read their users when they start. */
async function anyServerRuns({ target }: AccessInputs): Promise<boolean> {
  if (target.platform !== "kubernetes") return true;
  return (await runningServers(await openKubernetesClient(target), target)).length > 0;
}

/**
 * Sets users and passwords on all running servers. State after a failure:
 *
 * - Before the first server was changed: at most the Secret of the overlap exists.
 * - Later: some servers accept the new passwords in addition to the former passwords, have the new rules of users, or
 *   use the new password for the connection to their primary. In the last case, all servers accept the new password.
 *
 * Nothing else of the deployment has changed. The next update sets users and passwords on all servers again. After
 * that, `Formation` makes servers refuse passwords that are no longer wanted, and deletes the Secret.
 */
export const handler: ResourceHandler<AccessInputs, AccessOutputs> = {
  check: (_olds, news) => Promise.resolve(problemsOf(news)),
  create: ({ target }) => Promise.resolve({ id: target.name, outputs: { changedAt: "", drift: [] } }),
  recordsAttempts: true,
  update: async (_id, olds, news, context, attempts = []) => {
    const { changedAt, drift } = olds;
    const same = [olds, ...attempts].every(
      (each) => canonicalJson(passwordsIn(each)) === canonicalJson(passwordsIn(news)),
    );
    if ((same && drift.length + attempts.length === 0) || !(await anyServerRuns(olds))) return { changedAt, drift: [] };
    return tellNodes(olds, news, context, attempts);
  },
  read: async (_id, { target, password, users, sentinelPassword, changedAt, drift }, { signal }) => {
    try {
      const deployment = await openToLook({ target, password }, { signal });
      return { changedAt, drift: await differingAccess(deployment, { password, users, sentinelPassword }) };
    } catch (error) {
      // DeploymentVerification reports nodes that do not answer. Drift that an earlier refresh found may still exist.
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
          `a new password${whose}: set on ${nodes}; the old password stays valid for ${overlapSeconds} s; ` +
          "no restart, no effect on clients that switch to the new password in this time",
      ),
      ...describeUsers(rulesIn(olds.target), rulesIn(target), nodes),
    ];
  },
};

function hasOtherPassword({ users: before }: AccessInputs, users: Users, name: string): boolean {
  const former = before[name]?.password;
  return former !== undefined && former !== users[name]?.password;
}

/** Sentences about changes of users, one for each change. */
function describeUsers(before: DesiredRules, after: DesiredRules, nodes: string): string[] {
  // The time is measured: docs/access.md.
  const nothing = "in about 20 s; no restart, no effect on other clients";
  const told = Object.entries(after).flatMap(([name, rules]) => {
    const former = before[name];
    if (former === rules) return [];
    return [`user ${name}: ${former === undefined ? "added" : "gets new rules"} on ${nodes} (${rules}), ${nothing}`];
  });
  const removed = Object.keys(before).filter((name) => !(name in after));
  return [
    ...told,
    ...removed.map((name) => `user ${name}: deleted on ${nodes}, and its connections are closed, ${nothing}`),
  ];
}
