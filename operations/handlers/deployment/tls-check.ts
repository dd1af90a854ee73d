/**
 * Checks the certificate of servers before they use it, and refuses to switch TLS on or off without `allowDowntime`.
 */
import { type Problem, BadInput, problem } from "../../../lib/errors";
import { poll } from "../../../lib/polling";
import { type KubernetesReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { findStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import { readTlsSecret, tlsSecretProblems } from "../../../platforms/kubernetes/access/tls-certificate-check";
import type { ReportProgress } from "../../../lib/progress";
import { inspectOrReport } from "../../protocol/preview";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { waitOptions } from "../../protocol/waiting";

export interface TlsCheckInputs {
  readonly target: KubernetesReference;
  readonly tls?: TlsRequest | undefined;
  /** All servers then restart at the same time. */
  readonly allowDowntime: boolean;
  /** Whether the servers still have their data after their pods restart. */
  readonly keepsData: boolean;
  readonly timeoutSeconds: number;
}

export interface TlsRequest {
  readonly secretName: string;
  readonly hosts: readonly string[];
}

export interface TlsCheckOutputs {
  /** `NAMESPACE/NAME` of the Secret; null without TLS. */
  readonly secret: string | null;
}

const POLL_MS = 1_000;

type SecretLook =
  | { readonly state: "absent" | "unreadable" }
  | { readonly state: "read"; readonly problems: readonly string[] };

async function lookAtSecret(
  kubernetes: KubernetesClient,
  namespace: string,
  { secretName, hosts }: TlsRequest,
): Promise<SecretLook> {
  const look = await readTlsSecret(kubernetes, namespace, secretName);
  return look.state === "read" ? { state: "read", problems: tlsSecretProblems(look.data, hosts, new Date()) } : look;
}

const unreadable = ({ secretName }: TlsRequest): string =>
  `Secret ${secretName} cannot be read by this user, so its certificate is not checked`;

/** Reason why TLS cannot be switched on or off; undefined if the switch is allowed, or if there are no servers yet. */
async function switchProblem(
  { target }: TlsCheckInputs,
  isOn: boolean,
  { allowDowntime = false, keepsData = false }: Partial<TlsCheckInputs>,
): Promise<Problem | undefined> {
  if (allowDowntime && keepsData) return undefined;
  const { name, namespace, statefulSet, mode } = target;
  if ((await findStatefulSet(await openKubernetesClient(target), { namespace, statefulSet })) === undefined)
    return undefined;
  const peers =
    mode === "cluster"
      ? "a node with an encrypted cluster bus cannot talk to a node with an unencrypted cluster bus"
      : "a replica with TLS cannot connect to a primary without TLS";
  return problem(
    "tls-switched",
    "tls",
    `TLS cannot be switched ${isOn ? "on" : "off"} while clients of ${name} work: ${peers}. ` +
      (keepsData
        ? "Set allowDowntime: true, which restarts all nodes at once and keeps their data; or"
        : "All nodes would have to restart at once and would lose their data, because they keep no data on volumes " +
          "(storage.ephemeral, or neither appendonly nor save). Undo the change; or") +
      ` deploy a second stack ${isOn ? "with" : "without"} TLS, and move the data and the clients`,
  );
}

/** If the Secret cannot be read now, the update checks it later. */
async function refusals(
  olds: TlsCheckInputs | undefined,
  target: KubernetesReference,
  { tls, ...news }: Partial<TlsCheckInputs>,
  report: ReportProgress,
): Promise<Problem[]> {
  const isOn = tls !== undefined;
  if (olds !== undefined && (olds.tls !== undefined) !== isOn) {
    const refused = await switchProblem(olds, isOn, news);
    if (refused !== undefined) return [refused];
  }
  if (!isOn) return [];
  const look = await lookAtSecret(await openKubernetesClient(target), target.namespace, tls);
  if (look.state === "absent") report(`Secret ${tls.secretName} does not exist yet: the update waits for it`);
  if (look.state === "unreadable") report(unreadable(tls));
  if (look.state !== "read") return [];
  return look.problems.map((why) => problem("unusable-certificate", "tls", `Secret ${tls.secretName}: ${why}`));
}

/** @throws BadInput when the certificate cannot serve the deployment */
async function awaitSecret(
  { target, tls, timeoutSeconds }: TlsCheckInputs,
  context: HandlerContext,
): Promise<TlsCheckOutputs> {
  const { name, namespace } = target;
  if (tls === undefined) return { secret: null };
  const { timeoutMs, signal, report } = waitOptions(name, timeoutSeconds, context);
  const kubernetes = await openKubernetesClient(target);
  const look = await poll(
    async () => {
      const found = await lookAtSecret(kubernetes, namespace, tls);
      if (found.state !== "absent") return found;
      report(`namespace ${namespace} has no Secret ${tls.secretName} yet`, true);
      return undefined;
    },
    { timeoutMs, intervalMs: POLL_MS, signal },
  );
  const subject = `Secret ${tls.secretName} of namespace ${namespace}`;
  if (look === undefined) throw BadInput.of(name, "no-secret", `${subject}: it does not exist`, "tls");
  if (look.state === "unreadable") context.report(unreadable(tls));
  if (look.state === "read" && look.problems.length > 0)
    throw BadInput.of(
      name,
      "unusable-certificate",
      look.problems.map((why) => `${subject}: ${why}`),
      "tls",
    );
  return { secret: `${namespace}/${tls.secretName}` };
}

export const handler: ResourceHandler<TlsCheckInputs, TlsCheckOutputs> = {
  check: async (olds, { target, ...news }, { report }): Promise<Problem[]> => {
    if (target === undefined) return [];
    return (await inspectOrReport(target.name, report, () => refusals(olds, target, news, report))) ?? [];
  },
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await awaitSecret(inputs, context) }),
  update: async (_id, olds, news, context) => {
    const isOn = news.tls !== undefined;
    // The update checks this again, because a preview may have had no access to the Kubernetes cluster.
    const refused = (olds.tls !== undefined) === isOn ? undefined : await switchProblem(olds, isOn, news);
    if (refused !== undefined) throw new BadInput(news.target.name, [refused]);
    return awaitSecret(news, context);
  },
};
