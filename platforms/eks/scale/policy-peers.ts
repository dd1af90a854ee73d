/** Peers of policies are pods by their labels, or the addresses of the network if there are too many pods. */
import { formatCount } from "../../../lib/units";

/**
 * In one PolicyEndpoint object. EKS writes and sends these to every machine whenever a pod starts or stops. The default
 * is 200, but an object on EKS had 1,000 (NVIDIA/NVSentinel, issue 1792). A policy of several objects drops connections
 * while they change (aws/amazon-network-policy-controller-k8s, issue 201).
 */
const ADDRESSES_PER_OBJECT = 1000;

export interface PolicyPeers {
  /** Number of pods that a network policy would list as peers if it selected pods. */
  readonly pods: number;
  /** CIDR block of the network, if policies use the block instead of pods; null if policies select pods. */
  readonly cidr: string | null;
  /**
   * Whether the CIDR block of the existing network is unknown, although policies need it because there are too many
   * pods.
   */
  readonly unknownBlock: boolean;
}

/** @param pods in the stack's namespace @param cidr block of the network; undefined if the network exists already */
export function planPolicyPeers(pods: number, cidr: string | undefined): PolicyPeers {
  const isLarge = pods > ADDRESSES_PER_OBJECT;
  return { pods, cidr: isLarge ? (cidr ?? null) : null, unknownBlock: isLarge && cidr === undefined };
}

export function policyNotes({ unknownBlock, pods }: PolicyPeers): string[] {
  const why = "the address block of the existing network is unknown";
  return unknownBlock ? [`network policies select all ${formatCount(pods)} pods, because ${why}`] : [];
}
