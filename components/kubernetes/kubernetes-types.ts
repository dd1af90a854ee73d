/**
 * Types of Kubernetes that arguments have, with the descriptions of Kubernetes. The types of the SDK would cost the
 * compiler of a user's program many seconds.
 */
import type * as pulumi from "@pulumi/pulumi";

/**
 * The pod this Toleration is attached to tolerates any taint that matches the triple <key,value,effect> using the
 * matching operator <operator>.
 */
export interface Toleration {
  /**
   * Effect indicates the taint effect to match. Empty means match all taint effects. When specified, allowed values are
   * NoSchedule, PreferNoSchedule and NoExecute.
   */
  readonly effect?: pulumi.Input<string | undefined>;
  /**
   * Key is the taint key that the toleration applies to. Empty means match all taint keys. If the key is empty,
   * operator must be Exists; this combination means to match all values and all keys.
   */
  readonly key?: pulumi.Input<string | undefined>;
  /**
   * Operator represents a key's relationship to the value. Valid operators are Exists, Equal, Lt, and Gt. Defaults to
   * Equal. Exists is equivalent to wildcard for value, so that a pod can tolerate all taints of a particular category.
   * Lt and Gt perform numeric comparisons (requires feature gate TaintTolerationComparisonOperators).
   */
  readonly operator?: pulumi.Input<string | undefined>;
  /**
   * TolerationSeconds represents the period of time the toleration (which must be of effect NoExecute, otherwise this
   * field is ignored) tolerates the taint. By default, it is not set, which means tolerate the taint forever (do not
   * evict). Zero and negative values will be treated as 0 (evict immediately) by the system.
   */
  readonly tolerationSeconds?: pulumi.Input<number | undefined>;
  /**
   * Value is the taint value the toleration matches to. If the operator is Exists, the value should be empty, otherwise
   * just a regular string.
   */
  readonly value?: pulumi.Input<string | undefined>;
}

/** NetworkPolicyPeer describes a peer to allow traffic to/from. Only certain combinations of fields are allowed */
export interface NetworkPolicyPeer {
  /** ipBlock defines policy on a particular IPBlock. If this field is set then neither of the other fields can be. */
  readonly ipBlock?: pulumi.Input<IPBlock | undefined>;
  /**
   * namespaceSelector selects namespaces using cluster-scoped labels. This field follows standard label selector
   * semantics; if present but empty, it selects all namespaces.
   *
   * If podSelector is also set, then the NetworkPolicyPeer as a whole selects the pods matching podSelector in the
   * namespaces selected by namespaceSelector. Otherwise it selects all pods in the namespaces selected by
   * namespaceSelector.
   */
  readonly namespaceSelector?: pulumi.Input<LabelSelector | undefined>;
  /**
   * podSelector is a label selector which selects pods. This field follows standard label selector semantics; if
   * present but empty, it selects all pods.
   *
   * If namespaceSelector is also set, then the NetworkPolicyPeer as a whole selects the pods matching podSelector in
   * the Namespaces selected by NamespaceSelector. Otherwise it selects the pods matching podSelector in the policy's
   * own namespace.
   */
  readonly podSelector?: pulumi.Input<LabelSelector | undefined>;
}

/**
 * IPBlock describes a particular CIDR (Ex. "192.168.1.0/24","2001:db8::/64") that is allowed to the pods matched by a
 * NetworkPolicySpec's podSelector. The except entry describes CIDRs that should not be included within this rule.
 */
export interface IPBlock {
  /** cidr is a string representing the IPBlock Valid examples are "192.168.1.0/24" or "2001:db8::/64" */
  readonly cidr: pulumi.Input<string>;
  /**
   * except is a slice of CIDRs that should not be included within an IPBlock Valid examples are "192.168.1.0/24" or
   * "2001:db8::/64" Except values will be rejected if they are outside the cidr range
   */
  readonly except?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}

/**
 * A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.
 * An empty label selector matches all objects. A null label selector matches no objects.
 */
export interface LabelSelector {
  /** matchExpressions is a list of label selector requirements. The requirements are ANDed. */
  readonly matchExpressions?: pulumi.Input<pulumi.Input<LabelSelectorRequirement>[] | undefined>;
  /**
   * matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an element
   * of matchExpressions, whose key field is "key", the operator is "In", and the values array contains only "value".
   * The requirements are ANDed.
   */
  readonly matchLabels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

/**
 * A label selector requirement is a selector that contains values, a key, and an operator that relates the key and
 * values.
 */
export interface LabelSelectorRequirement {
  /** key is the label key that the selector applies to. */
  readonly key: pulumi.Input<string>;
  /**
   * operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and
   * DoesNotExist.
   */
  readonly operator: pulumi.Input<string>;
  /**
   * values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the
   * operator is Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic merge
   * patch.
   */
  readonly values?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}
