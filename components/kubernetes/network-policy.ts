/** Who may talk to a deployment's pods, and whom they may talk to. Binding only where the network plugin enforces it. */
import * as k8s from "@pulumi/kubernetes";
import type { Context } from "./context";
import { metadata } from "./context";
import { CLIENT_PORT, METRICS_PORT } from "./layout";
import { selectorLabels } from "./names";

type Peer = k8s.types.input.networking.v1.NetworkPolicyPeer;

/** @param between ports that the deployment's nodes use between each other */
export function createNetworkPolicy(context: Context, between: readonly number[]): k8s.networking.v1.NetworkPolicy {
  const { deployment, names, args, options } = context;
  const own: Peer = { podSelector: { matchLabels: selectorLabels(deployment) } };
  const clients: readonly Peer[] = args.access?.clients ?? [{ podSelector: {} }];
  const monitoring: readonly Peer[] = args.access?.monitoring ?? [{ namespaceSelector: {} }];
  return new k8s.networking.v1.NetworkPolicy(
    names.networkPolicy,
    {
      metadata: metadata(context, names.networkPolicy),
      spec: {
        podSelector: { matchLabels: selectorLabels(deployment) },
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          { from: [own, ...clients], ports: [tcp(CLIENT_PORT)] },
          { from: [own], ports: between.map(tcp) },
          ...(args.metrics === undefined ? [] : [{ from: [own, ...monitoring], ports: [tcp(METRICS_PORT)] }]),
        ],
        egress: [
          { to: [own], ports: between.map(tcp) },
          // DNS, wherever this Kubernetes has it: in pods, on the machines, outside.
          { ports: [{ protocol: "UDP", port: 53 }, tcp(53)] },
        ],
      },
    },
    options,
  );
}

function tcp(port: number): k8s.types.input.networking.v1.NetworkPolicyPort {
  return { protocol: "TCP", port };
}
