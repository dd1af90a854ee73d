/** Plan of a benchmark Job: plain data. */
import type { Labels, Toleration } from "../../../platforms/kubernetes/pods/pods";
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { TlsFiles } from "../../../valkey/node";
import type { BenchmarkUser } from "../benchmark-user";
import type { JobPhase } from "./load-generator";
import type { BinaryFiles, LoadSidecar } from "./sidecar";

/** Where and how runners run, the same for every Job. */
export interface RunnerPlan {
  /** Number of runners. */
  readonly runners: number;
  /** Namespace of the Jobs; the servers must accept connections from it. @default the servers' */
  readonly namespace?: string | undefined;
  /**
   * Whether runners may share machines with servers of the deployment under test. Every record then carries a warning.
   */
  readonly sharing: boolean;
  /**
   * Requests and limits of each runner. A CPU limit slows the load generator down (scanners ask for one, CKV_K8S_11).
   * @default 100m and 64Mi, at most 1Gi
   */
  readonly resources?: { readonly requests: Labels; readonly limits?: Labels } | undefined;
  /** Image that holds valkey-benchmark and valkey-cli. @default the servers' image */
  readonly image?: string | undefined;
  /**
   * Images of the load generators that the servers' image does not hold.
   * @default pinned images of Node and memtier_benchmark
   */
  readonly images?: { readonly node?: string | undefined; readonly memtier?: string | undefined } | undefined;
  /** Pull policy of all images. @default Kubernetes' own */
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | undefined;
  /** Labels of the machines that runners may use, such as those of a pool of their own. */
  readonly nodeSelector?: Labels | undefined;
  readonly tolerations?: readonly Toleration[] | undefined;
  /**
   * Zones that runners are spread over evenly, each on a machine without another runner, in the order in which they
   * are filled. For machines that are started for the runners: as many as planned.
   * @default any zone, on other machines where there are any
   */
  readonly ownMachinesIn?: readonly string[] | undefined;
  /** Kernel settings that the runners' machines promise. Each one that differs is a warning in every record. */
  readonly tuning?: ExpectedTuning | undefined;
  /** Labels added to the pods, so that a NetworkPolicy can admit them. */
  readonly labels?: Labels | undefined;
  /** Names of Secrets in the runners' namespace. */
  readonly imagePullSecrets?: readonly string[] | undefined;
  /** The Secret with the TLS files, and the key of each file in it. */
  readonly tls?: RunnerTlsSecret | undefined;
}

/** A Secret with TLS files. */
export interface RunnerTlsSecret {
  readonly secret: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** One run of a load generator by a Job. */
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
  /** The warm-up, if there is one, and the measurement. */
  readonly phases: readonly JobPhase[];
  /** Runs the load generator where the servers' image does not hold it. */
  readonly sidecar?: LoadSidecar | undefined;
  /** Files of the sidecar. */
  readonly files?: BinaryFiles | undefined;
  /**
   * The user made for the run and deleted after it. Load generators take a password on their command line only; the
   * runner takes it from its environment, so that the Job's objects do not hold it (CKV_K8S_35).
   */
  readonly user: BenchmarkUser | undefined;
  /** TLS options besides the files, which are the runner's own. */
  readonly tls: Pick<TlsFiles, "sni"> | undefined;
  /** Longest wait of a runner for the others, seconds. */
  readonly timeoutSeconds: number;
  /** Seconds after which Kubernetes ends the Job, even when the program that started it is gone. */
  readonly deadlineSeconds: number;
}

/** Labels of every object of a run. */
export const JOB_LABELS: Labels = {
  "app.kubernetes.io/name": "valkey-benchmark",
  "app.kubernetes.io/managed-by": "valkey-measured",
};
