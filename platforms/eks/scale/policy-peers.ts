/**
 * Peers of network policies. They are pods, selected by their labels, or the addresses of the network if there are too
 * many pods. Pure.
 */
import { formatCount } from "../../../lib/units";

/**
 * Number of addresses in one PolicyEndpoint object. EKS resolves the peers of a policy into objects of this size.
 * Whenever a pod starts or stops, EKS writes these objects again and sends each object to every machine. The default of
 * the controller is 200, but an object on EKS had 1,000 (NVIDIA/NVSentinel, issue 1792). A policy that needs several
 * objects drops connections while the objects change (aws/amazon-network-policy-controller-k8s, issue 201).
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

/**
 * Decides how network policies name their peers.
 * @param pods number of pods in the stack's namespace
 * @param cidr block of the network; undefined if the network exists already
 */
export function planPolicyPeers(pods: number, cidr: string | undefined): PolicyPeers {
  const isLarge = pods > ADDRESSES_PER_OBJECT;
  return { pods, cidr: isLarge ? (cidr ?? null) : null, unknownBlock: isLarge && cidr === undefined };
}

export function policyNotes({ unknownBlock, pods }: PolicyPeers): string[] {
  const why = "the address block of the existing network is unknown";
  return unknownBlock ? [`network policies select all ${formatCount(pods)} pods, because ${why}`] : [];
}
