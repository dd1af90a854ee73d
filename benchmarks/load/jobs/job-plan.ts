import type { Labels, Toleration } from "../../../platforms/kubernetes/pods/running-pods";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { Endpoint, TlsFiles } from "../../../valkey/node";
import type { BenchmarkUser } from "../benchmark-user";
import type { LoadSidecar } from "./sidecar";

/** Number, placement and options of the runners. All Jobs of a run share these values. */
export interface RunnerPlan {
  /** Number of runners. */
  readonly runners: number;
  /** Namespace of the Jobs. The servers must accept connections from this namespace. @default the servers' namespace */
  readonly namespace?: string | undefined;
  /**
   * Whether runners are allowed to share machines with servers of the deployment under test. If they are allowed to,
   * every record has a warning.
   */
  readonly sharing: boolean;
  /**
   * Resource requests and limits of each runner. A CPU limit slows the load generator down. The limits can be set
   * because some security scanners demand a CPU limit (CKV_K8S_11).
   * @default 100m and 64Mi, at most 1Gi
   */
  readonly resources?: { readonly requests: Labels; readonly limits?: Labels } | undefined;
  /** Image with valkey-benchmark and valkey-cli. @default the servers' image */
  readonly image?: string | undefined;
  /**
   * Images of the load generators that are not in the servers' image.
   * @default pinned images of Node and memtier_benchmark
   */
  readonly images?: { readonly node?: string | undefined; readonly memtier?: string | undefined } | undefined;
  /** Pull policy of all images. @default Kubernetes' own default */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | undefined;
  /** Labels of the machines that runners are allowed to use, for example the labels of a separate pool. */
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  /**
   * Zones for the runners, if the platform starts one machine for each runner. The runners are divided evenly among the
   * zones, and each runner gets a machine without other runners.
   * @default any zone, on separate machines if enough machines exist
   */
  readonly ownMachinesIn?: readonly string[] | undefined;
  /**
   * Kernel settings that the runners' machines should have. If a setting differs, every record has a warning for this
   * setting.
   */
  readonly tuning?: ExpectedTuning | undefined;
  /** Labels that are added to the runners' pods, so that a NetworkPolicy can select these pods. */
  readonly labels?: Labels | undefined;
  /** Names of Secrets for pulling images, in the runners' namespace. */
  readonly imagePullSecrets?: readonly string[] | undefined;
  /** The Secret with the TLS files, and the key of each file in the Secret. */
  readonly tls?: RunnerTlsSecret | undefined;
}

/** A Secret with TLS files. */
export interface RunnerTlsSecret {
  readonly secret: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface JobPhase {
  /** Arguments, with placeholders for the values that differ between runners (`runner-script.ts`). */
  readonly arguments: readonly string[];
  /** Server for valkey-cli, with the keys by which runners wait for each other. */
  readonly endpoint: Endpoint;
  readonly seed: number;
  readonly requests: number | undefined;
  /** Requests per second of all runners together; undefined if the load generator sends as fast as it can. */
  readonly rate: number | undefined;
  readonly seconds: number | undefined;
  readonly timeoutSeconds: number;
}

export interface JobPlan {
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  readonly servers: { readonly namespace: string; readonly labels: Labels };
  readonly runner: RunnerPlan;
  readonly keys: string;
  readonly phases: readonly JobPhase[];
  readonly sidecar?: LoadSidecar | undefined;
  /**
   * Load generators take a password only on their command line, so the runner reads it from its environment: the Job's
   * objects do not contain it (CKV_K8S_35).
   */
  readonly user: BenchmarkUser | undefined;
  /** Server name (SNI) for TLS connections; undefined without TLS. `runner.tls` names the Secret with the TLS files. */
  readonly tls: Pick<TlsFiles, "sni"> | undefined;
  readonly timeoutSeconds: number;
  /** Seconds after which Kubernetes ends the Job, even if this program no longer runs. */
  readonly deadlineSeconds: number;
}

export const JOB_LABELS: Labels = {
  "app.kubernetes.io/name": "valkey-benchmark",
  "app.kubernetes.io/managed-by": "valkey-measured",
};
