/** Peers of network policies: pods by their labels, or the network's addresses where there are too many pods. Pure. */
import { formatCount } from "../../../lib/units";

/**
 * Addresses in one PolicyEndpoint. EKS resolves the peers of a policy into objects of this size, writes them anew
 * whenever a pod comes or goes, and sends each to every machine. The controller has 200 by default; 1,000 were measured
 * on EKS (NVIDIA/NVSentinel, issue 1792). A policy in several objects drops connections while they change
 * (aws/amazon-network-policy-controller-k8s, issue 201).
 */
const ADDRESSES_PER_OBJECT = 1000;

export interface PolicyPeers {
  /** Pods that a policy would list as its peers. */
  readonly pods: number;
  /** The network's block, in place of pods; null where policies select pods. */
  readonly cidr: string | null;
  /** Whether the pods are too many, and the block of an existing network is not known. */
  readonly unknownBlock: boolean;
}

/**
 * @param pods of the stack's namespace
 * @param cidr block of the network; undefined where it exists already
 */
export function planPolicyPeers(pods: number, cidr: string | undefined): PolicyPeers {
  const isLarge = pods > ADDRESSES_PER_OBJECT;
  return { pods, cidr: isLarge ? (cidr ?? null) : null, unknownBlock: isLarge && cidr === undefined };
}

export function policyNotes({ unknownBlock, pods }: PolicyPeers): string[] {
  const why = "the existing network's block, which they could name instead, is not known here";
  return unknownBlock ? [`network policies select ${formatCount(pods)} pods: ${why}`] : [];
}
