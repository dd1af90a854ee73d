/** Network policies have an effect only if the network plugin enforces policies. */
import { compact } from "../../lib/compact";
import * as k8s from "./kubernetes-sdk";
import type * as pulumi from "@pulumi/pulumi";
import { JOB_LABELS } from "../../benchmarks/load/jobs/job-plan";
import { type DeploymentContext, objectMetadata } from "./deployment-context";
import { CLIENT_PORT, METRICS_PORT, SENTINEL_PORT } from "./layout";
import { archiveLabels, controllerLabels, restoreLabels, selectorLabels, sentinelLabels, proxyLabels } from "./names";

type Peer = k8s.types.input.networking.v1.NetworkPolicyPeer;

/** Ports of API servers: of the Service `kubernetes`, and of the servers behind it. */
const API_SERVER_PORTS = [443, 6443];

/** No peers, because DNS servers may run in pods, on the machines, or outside the cluster. */
const DNS: k8s.types.input.networking.v1.NetworkPolicyEgressRule = { ports: [{ protocol: "UDP", port: 53 }, tcp(53)] };

/** @param between ports between nodes @param watched Sentinels and proxies connect, and servers ask Sentinels */
export function createNetworkPolicy(
  context: DeploymentContext,
  between: readonly number[],
  watched = false,
): k8s.networking.v1.NetworkPolicy {
  const { deployment, names, args, options } = context;
  const own: readonly Peer[] = args.access?.nodes ?? [{ podSelector: { matchLabels: selectorLabels(deployment) } }];
  const isAmongNodes = args.access?.nodes !== undefined;
  const watchers: readonly Peer[] =
    watched && !isAmongNodes
      ? [
          { podSelector: { matchLabels: sentinelLabels(deployment) } },
          { podSelector: { matchLabels: proxyLabels(deployment) } },
        ]
      : [];
  const controller = controllerPeers(context);
  const clients: readonly Peer[] = args.access?.clients ?? [{ podSelector: {} }];
  const monitoring: readonly Peer[] = args.access?.monitoring ?? [{ namespaceSelector: {} }];
  return new k8s.networking.v1.NetworkPolicy(
    names.networkPolicy,
    {
      metadata: objectMetadata(context, names.networkPolicy),
      spec: {
        podSelector: { matchLabels: selectorLabels(deployment) },
        policyTypes: ["Ingress", "Egress"],
        ingress: compact([
          {
            from: unique([
              ...own,
              ...watchers,
              ...controller,
              ...archivePeers(context),
              ...restorePeers(context),
              ...clients,
            ]),
            ports: [tcp(CLIENT_PORT)],
          },
          ...outside(context, CLIENT_PORT),
          { from: [...own], ports: between.map(tcp) },
          args.metrics === undefined
            ? undefined
            : { from: unique([...own, ...monitoring]), ports: [tcp(METRICS_PORT)] },
        ]),
        egress: compact([
          { to: [...own], ports: between.map(tcp) },
          watched
            ? {
                to: isAmongNodes ? [...own] : [{ podSelector: { matchLabels: sentinelLabels(deployment) } }],
                ports: [tcp(SENTINEL_PORT)],
              }
            : undefined,
          DNS,
        ]),
      },
    },
    options,
  );
}

/** To Sentinels: Sentinels, servers, proxies, clients. To proxies: clients. To servers: Sentinels, proxies. */
export function createFailoverPolicies(context: DeploymentContext): void {
  const { deployment, names, args, options } = context;
  const podsWith = (labels: Record<string, string>): readonly Peer[] =>
    args.access?.nodes ?? [{ podSelector: { matchLabels: labels } }];
  const servers = podsWith(selectorLabels(deployment));
  const sentinels = podsWith(sentinelLabels(deployment));
  const proxies = podsWith(proxyLabels(deployment));
  const clients: readonly Peer[] = args.access?.clients ?? [{ podSelector: {} }];
  const policy = (name: string, labels: Record<string, string>, port: number, from: readonly Peer[]): void => {
    const spec: k8s.types.input.networking.v1.NetworkPolicySpec = {
      podSelector: { matchLabels: labels },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { from: unique([...from, ...controllerPeers(context), ...clients]), ports: [tcp(port)] },
        ...(port === CLIENT_PORT ? outside(context, port) : []),
      ],
      egress: [
        { to: [...sentinels], ports: [tcp(SENTINEL_PORT)] },
        { to: [...servers], ports: [tcp(CLIENT_PORT)] },
        DNS,
      ],
    };
    new k8s.networking.v1.NetworkPolicy(name, { metadata: objectMetadata(context, name), spec }, options);
  };
  policy(names.sentinel, sentinelLabels(deployment), SENTINEL_PORT, [...sentinels, ...servers, ...proxies]);
  policy(names.proxy, proxyLabels(deployment), CLIENT_PORT, []);
}

/** They accept no connections, and connect only to servers. @param servers @default every pod of the namespace */
export function createLoadGeneratorPolicy(
  namespace: pulumi.Input<string>,
  options: pulumi.CustomResourceOptions,
  servers: readonly Peer[] = [{ podSelector: {} }],
): k8s.networking.v1.NetworkPolicy {
  const name = "load-generators";
  return new k8s.networking.v1.NetworkPolicy(
    name,
    {
      metadata: { name, namespace, labels: { ...JOB_LABELS, "app.kubernetes.io/managed-by": "pulumi" } },
      spec: {
        podSelector: { matchLabels: { ...JOB_LABELS } },
        policyTypes: ["Ingress", "Egress"],
        ingress: [],
        egress: [{ to: [...servers], ports: [tcp(CLIENT_PORT)] }, DNS],
      },
    },
    options,
  );
}

/** From Prometheus; to servers, Sentinels, proxies and the API server, whose address no policy can name. */
export function createControllerPolicy(context: DeploymentContext, port: number): void {
  const { deployment, names, args, options } = context;
  const name = names.controller;
  const deployed = [selectorLabels, sentinelLabels, proxyLabels].map((labels) => ({
    podSelector: { matchLabels: labels(deployment) },
  }));
  new k8s.networking.v1.NetworkPolicy(
    name,
    {
      metadata: objectMetadata(context, name),
      spec: {
        podSelector: { matchLabels: controllerLabels(deployment) },
        policyTypes: ["Ingress", "Egress"],
        ingress: [{ from: [...(args.access?.monitoring ?? [{ namespaceSelector: {} }])], ports: [tcp(port)] }],
        egress: [
          { to: [...(args.access?.nodes ?? deployed)], ports: [tcp(CLIENT_PORT), tcp(SENTINEL_PORT)] },
          { ports: (args.controller?.apiServerPorts ?? API_SERVER_PORTS).map(tcp) },
          DNS,
        ],
      },
    },
    options,
  );
}

interface BackupPod {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly bucket: readonly k8s.types.input.networking.v1.NetworkPolicyEgressRule[];
  readonly connectsToServers: boolean;
  /** @default the pod accepts no connections */
  readonly metricsPort?: number;
}

export function createBackupPodPolicy(
  context: DeploymentContext,
  { name, labels, bucket, connectsToServers, metricsPort }: BackupPod,
): void {
  const { deployment, args, options } = context;
  const servers: readonly Peer[] = args.access?.nodes ?? [{ podSelector: { matchLabels: selectorLabels(deployment) } }];
  const prometheus: readonly Peer[] = args.access?.monitoring ?? [{ namespaceSelector: {} }];
  new k8s.networking.v1.NetworkPolicy(
    name,
    {
      metadata: objectMetadata(context, name),
      spec: {
        podSelector: { matchLabels: labels },
        policyTypes: ["Ingress", "Egress"],
        ingress: metricsPort === undefined ? [] : [{ from: [...prometheus], ports: [tcp(metricsPort)] }],
        egress: [...(connectsToServers ? [{ to: [...servers], ports: [tcp(CLIENT_PORT)] }] : []), ...bucket, DNS],
      },
    },
    options,
  );
}

/** The pod connects to the servers as a replica does. */
function archivePeers({ deployment, args }: DeploymentContext): Peer[] {
  return args.backup === undefined ? [] : [{ podSelector: { matchLabels: archiveLabels(deployment) } }];
}

function restorePeers({ deployment, args }: DeploymentContext): Peer[] {
  return args.restoreFrom === undefined ? [] : [{ podSelector: { matchLabels: restoreLabels(deployment) } }];
}

/** It connects to servers, Sentinels and proxies like a client. */
function controllerPeers({ deployment, args }: DeploymentContext): Peer[] {
  return args.controller === undefined ? [] : [{ podSelector: { matchLabels: controllerLabels(deployment) } }];
}

/** Their connections come from the address of the machine that forwards them, so no policy can name the clients. */
function outside({ args }: DeploymentContext, port: number): k8s.types.input.networking.v1.NetworkPolicyIngressRule[] {
  return args.external === undefined ? [] : [{ ports: [tcp(port)] }];
}

/** There are duplicates if the same block of addresses is given for several kinds of pods. */
function unique(peers: readonly Peer[]): Peer[] {
  return [...new Map(peers.map((peer) => [JSON.stringify(peer), peer])).values()];
}

function tcp(port: number): k8s.types.input.networking.v1.NetworkPolicyPort {
  return { protocol: "TCP", port };
}
