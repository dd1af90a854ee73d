/** The parts of Kubernetes' objects that tests look into, as components declare them. */
interface Probe {
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
  readonly exec?: { readonly command: readonly string[] };
  readonly tcpSocket?: unknown;
}
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources?: {
    readonly requests?: { readonly cpu?: string; readonly memory?: string };
    readonly limits?: { readonly cpu?: string; readonly memory?: string };
  };
  readonly securityContext: { readonly readOnlyRootFilesystem?: boolean };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly volumeMounts?: readonly { readonly name: string; readonly readOnly?: boolean }[];
}
interface FileSource {
  readonly name: string;
  readonly optional?: boolean;
}
interface PodTerm {
  readonly topologyKey: string;
  readonly labelSelector: { readonly matchLabels: Readonly<Record<string, string>> };
}
export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: unknown;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes: readonly {
    readonly name: string;
    readonly configMap?: FileSource;
    readonly secret?: {
      readonly secretName: string;
      readonly defaultMode?: number;
      readonly items?: readonly { readonly key: string }[];
    };
    readonly projected?: {
      readonly defaultMode?: number;
      readonly sources: readonly { readonly secret?: FileSource }[];
    };
  }[];
  readonly topologySpreadConstraints?: readonly (PodTerm & {
    readonly whenUnsatisfiable: string;
    readonly maxSkew: number;
    readonly minDomains?: number;
  })[];
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution: {
        readonly nodeSelectorTerms: readonly {
          readonly matchExpressions: readonly { readonly key: string; readonly values: readonly string[] }[];
        }[];
      };
    };
    readonly podAntiAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[];
      readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly podAffinityTerm: PodTerm }[];
    };
  };
}
export interface Peer {
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly namespaceSelector?: object;
}
export interface PolicyRule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number }[];
}
export interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly PolicyRule[];
  readonly egress: readonly PolicyRule[];
}
