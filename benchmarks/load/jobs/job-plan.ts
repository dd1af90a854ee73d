/** Plan of a benchmark Job. Plain data. */
import type { Labels, Toleration } from "../../../platforms/kubernetes/pods/pods";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { TlsFiles } from "../../../valkey/node";
import type { BenchmarkUser } from "../benchmark-user";
import type { JobPhase } from "./load-generator";
import type { BinaryFiles, LoadSidecar } from "./sidecar";

/** Number, placement and options of runners, the same for every Job. */
export interface RunnerPlan {
  /** Number of runners. */
  readonly runners: number;
  /** Namespace of the Jobs. The servers must accept connections from it. @default the servers' namespace */
  readonly namespace?: string | undefined;
  /**
   * Whether runners may share machines with servers of the deployment under test. If they may, every record has a
   * warning.
   */
  readonly sharing: boolean;
  /**
   * Requests and limits of each runner. A CPU limit slows the load generator down, but security scanners ask for one
   * (CKV_K8S_11).
   * @default 100m and 64Mi, at most 1Gi
   */
  readonly resources?: { readonly requests: Labels; readonly limits?: Labels } | undefined;
  /** Image with valkey-benchmark and valkey-cli. @default the servers' image */
  readonly image?: string | undefined;
  /**
   * Images of the load generators that the servers' image does not contain.
   * @default pinned images of Node and memtier_benchmark
   */
  readonly images?: { readonly node?: string | undefined; readonly memtier?: string | undefined } | undefined;
  /** Pull policy of all images. @default the default of Kubernetes */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | undefined;
  /** Labels of the machines that runners may use, for example the labels of a separate pool. */
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  /**
   * Zones over which runners are spread evenly. Each runner is on a machine without another runner, and the zones are
   * filled in the given order. It is meant for machines that are started for the runners, one for each runner.
   * @default any zone, on separate machines if there are any
   */
  readonly ownMachinesIn?: readonly string[] | undefined;
  /** Kernel settings that the runners' machines promise. Each setting that differs is a warning in every record. */
  readonly tuning?: ExpectedTuning | undefined;
  /** Labels that are added to the pods, so that a NetworkPolicy can allow them. */
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

/** One run of a load generator as a Job. */
export interface JobPlan {
  readonly name: string;
  readonly namespace: string;
  /** Image of the runners. */
  readonly image: string;
  /** Servers of the deployment under test. */
  readonly servers: { readonly namespace: string; readonly labels: Labels };
  readonly runner: RunnerPlan;
  /** Prefix of the keys by which runners meet. */
  readonly keys: string;
  /** The warm-up, if there is one, and then the measurement. */
  readonly phases: readonly JobPhase[];
  /** Runs the load generator if the servers' image does not contain it. */
  readonly sidecar?: LoadSidecar | undefined;
  /** Files of the sidecar. */
  readonly files?: BinaryFiles | undefined;
  /**
   * The user that is created for the run and deleted after it. Load generators take a password only on their command
   * line. The runner takes it from its environment, so that the Job's objects do not contain it (CKV_K8S_35).
   */
  readonly user: BenchmarkUser | undefined;
  /** TLS options except the files, which belong to the runner. */
  readonly tls: Pick<TlsFiles, "sni"> | undefined;
  /** Longest time for which a runner waits for the others, seconds. */
  readonly timeoutSeconds: number;
  /** Seconds after which Kubernetes ends the Job, even if the program that started it no longer runs. */
  readonly deadlineSeconds: number;
}

/** Labels of every object of a run. */
export const JOB_LABELS: Labels = {
  "app.kubernetes.io/name": "valkey-benchmark",
  "app.kubernetes.io/managed-by": "valkey-measured",
};
