/** Addresses at which clients outside the Kubernetes cluster reach Services of the types LoadBalancer and NodePort. */
import { lookup } from "node:dns/promises";
import { Failure } from "../../../lib/errors";
import { poll } from "../../../lib/polling";
import type { Endpoint } from "../../../valkey/node";
import type { KubernetesClient } from "../api/client";
import type { PodWaitOptions } from "../pods/running-pods";
import { POD_TIMEOUT_MS } from "../pods/running-pods";

const POLL_MS = 500;

/** A Service. If its type is NodePort, clients use the address of the machine of `pod`. */
export interface ExternalService {
  readonly name: string;
  readonly pod: string;
}

/** Address of a Service for clients outside the Kubernetes cluster. */
export interface ExternalEndpoint extends Endpoint {
  /** IP address of the host. */
  readonly address: string;
}

/**
 * Waits until all Services have an address.
 * @throws Failure that names the Services without an address when the time is up, with reasons
 */
export async function awaitExternalEndpoints(
  kubernetes: KubernetesClient,
  namespace: string,
  services: readonly ExternalService[],
  { timeoutMs = POD_TIMEOUT_MS, signal, report }: PodWaitOptions = {},
): Promise<ExternalEndpoint[]> {
  let reasons: string[] = [];
  const found = await poll(
    async () => {
      const answers = await Promise.all(services.map((each) => endpointOf(kubernetes, namespace, each)));
      reasons = answers.filter((each) => typeof each === "string");
      if (reasons.length > 0) report?.(reasons[0] ?? "", true);
      return reasons.length > 0 ? undefined : answers.filter((each) => typeof each !== "string");
    },
    { intervalMs: POLL_MS, timeoutMs, signal },
  );
  if (found !== undefined) return found;
  throw new Failure(`after ${Math.round(timeoutMs / 1000)} s: ${reasons.join("; ")}`);
}

/** Address of a Service for clients. @returns the address, or the reason why the Service has no address yet */
async function endpointOf(
  kubernetes: KubernetesClient,
  namespace: string,
  { name, pod }: ExternalService,
): Promise<ExternalEndpoint | string> {
  const { core } = kubernetes;
  const service = await kubernetes.find(`reading Service ${name}`, core.readNamespacedService({ namespace, name }));
  if (service === undefined) return `there is no Service ${name}`;
  const [port] = service.spec?.ports ?? [];
  if (service.spec?.type === "NodePort") {
    const { status } = await kubernetes.call(`reading pod ${pod}`, core.readNamespacedPod({ namespace, name: pod }));
    const host = status?.hostIP;
    if (port?.nodePort === undefined || host === undefined) return `Service ${name} has no node port yet`;
    return { host, address: host, port: port.nodePort };
  }
  const [ingress] = service.status?.loadBalancer?.ingress ?? [];
  const host = ingress?.ip ?? ingress?.hostname;
  if (host === undefined || port === undefined)
    return `Service ${name} has no address yet; check that a load balancer controller runs: kubectl describe service ${name}`;
  const address = ingress?.ip ?? (await resolved(host));
  return address === undefined
    ? `the host name ${host} of Service ${name} does not resolve yet`
    : { host, address, port: port.port };
}

/** The first of a host's addresses in sorted order, so that repeated calls give the same result. */
async function resolved(host: string): Promise<string | undefined> {
  try {
    const addresses = await lookup(host, { all: true, family: 4 });
    return addresses.map(({ address }) => address).sort()[0];
  } catch {
    return undefined;
  }
}
