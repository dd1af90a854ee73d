/** A pod in which the client of the failure tests writes while something else changes the deployment. */
import { join } from "node:path";
import { NODE_IMAGE } from "../../../benchmarks/load/jobs/default-images";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/security-context";
import type { KubernetesObject } from "./kubernetes-objects";
import type { ObservedWrites, ObserverOrder } from "./observer-main";
import type { ThrowAway } from "./throw-away";

const CONTAINER = "observer";
const STOP_FILE = "/tmp/stop";

export type ObservedDeployment = Pick<ObserverOrder, "mode" | "endpoints" | "rate">;

/** A Secret and its key. */
export interface PasswordSecret {
  readonly secret: string;
  readonly key: string;
}

export class ObserverPod {
  private constructor(
    private readonly here: ThrowAway,
    private readonly name: string,
    private readonly order: ObserverOrder,
  ) {}

  /** @param secret with the deployment's password; undefined without one */
  static async start(
    here: ThrowAway,
    name: string,
    deployment: ObservedDeployment,
    secret: PasswordSecret | undefined,
  ): Promise<ObserverPod> {
    await here.apply(objects(here.namespace, name, await bundle(), secret));
    await here.untilReady({ observer: name }, 1, 120);
    const passwordFile = secret === undefined ? undefined : `/secret/${secret.key}`;
    return new ObserverPod(here, name, { ...deployment, passwordFile, until: STOP_FILE });
  }

  /** Writes for as long as the change takes, and for `afterMs` more. @returns what became of the writes */
  async during(change: () => Promise<unknown>, afterMs: number): Promise<ObservedWrites> {
    const order = JSON.stringify(this.order).replaceAll("'", "");
    const writing = this.#run(`rm -f ${STOP_FILE}; ORDER='${order}' node /observer/main.cjs`);
    writing.catch(() => undefined);
    try {
      await pause(2000);
      await change();
      await pause(afterMs);
    } finally {
      await this.#run(`touch ${STOP_FILE}`);
    }
    return JSON.parse(await writing) as ObservedWrites;
  }

  #run(script: string): Promise<string> {
    return this.here.run(this.name, CONTAINER, script);
  }
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function bundle(): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [join(__dirname, "observer-main.ts")],
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minify: true,
    legalComments: "none",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

function objects(
  namespace: string,
  name: string,
  text: string,
  secret: PasswordSecret | undefined,
): KubernetesObject[] {
  const metadata = { name, namespace, labels: { observer: name } };
  const mounts = [
    { name: "program", mountPath: "/observer" },
    { name: "tmp", mountPath: "/tmp" },
    ...(secret === undefined ? [] : [{ name: "secret", mountPath: "/secret", readOnly: true }]),
  ];
  const volumes = [
    { name: "program", configMap: { name } },
    { name: "tmp", emptyDir: {} },
    ...(secret === undefined ? [] : [{ name: "secret", secret: { secretName: secret.secret, defaultMode: 0o440 } }]),
  ];
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "main.cjs": text } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 0,
        securityContext: POD_SECURITY_CONTEXT,
        containers: [
          {
            name: CONTAINER,
            image: NODE_IMAGE,
            imagePullPolicy: "IfNotPresent",
            command: ["sleep", "infinity"],
            securityContext: CONTAINER_SECURITY_CONTEXT,
            volumeMounts: mounts,
          },
        ],
        volumes,
      },
    },
  ] as KubernetesObject[];
}
