/** A pod with a program that writes while something else changes the deployment. */
import { join } from "node:path";
import { bundle } from "../../../lib/bundle";
import { NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/pod-basics";
import type { KubernetesObject } from "./kubernetes-objects";
import type { FloodedWrites, FloodOrder } from "./flood-main";
import type { IoredisOrder, IoredisWrites } from "./ioredis-main";
import type { ObservedWrites, ObserverOrder } from "./observer-main";
import type { ThrowAway } from "./throw-away";

const CONTAINER = "observer";
const [BEGUN_FILE, STOP_FILE] = ["/tmp/begun", "/tmp/stop"];
/** Only a program that hangs needs longer. */
const BEGIN_SECONDS = 180;

/** The files of this directory that are such programs, with what they are told and what they print. */
interface Programs {
  "observer-main.ts": [ObserverOrder, ObservedWrites];
  "flood-main.ts": [FloodOrder, FloodedWrites];
  "ioredis-main.ts": [IoredisOrder, IoredisWrites];
}
type Program = keyof Programs;
type Result<P extends Program> = Programs[P][1];

export interface PasswordSecret {
  readonly secret: string;
  readonly key: string;
}

export class ObserverPod<P extends Program> {
  private constructor(
    private readonly here: ThrowAway,
    private readonly name: string,
    private readonly order: Programs[Program][0],
  ) {}

  /** @param secret with the deployment's password; undefined without one */
  static async start<P extends Program>(
    here: ThrowAway,
    name: string,
    program: P,
    order: Omit<Programs[P][0], "passwordFile" | "begun" | "until">,
    secret: PasswordSecret | undefined,
  ): Promise<ObserverPod<P>> {
    await here.apply(objects(here.namespace, name, await bundle(join(__dirname, program)), secret));
    await here.untilReady({ observer: name }, 1, 120);
    const passwordFile = secret === undefined ? undefined : `/secret/${secret.key}`;
    return new ObserverPod<P>(here, name, {
      ...order,
      passwordFile,
      begun: BEGUN_FILE,
      until: STOP_FILE,
    } as Programs[P][0]);
  }

  /**
   * Has written for a while before the change, then writes for as long as it takes, and for `afterMs` more.
   * @param more parts of the order that differ this time
   * @returns what became of the writes
   */
  async during(
    change: () => Promise<unknown>,
    afterMs: number,
    more: Partial<Programs[P][0]> = {},
  ): Promise<Result<P>> {
    const order = JSON.stringify({ ...this.order, ...more }).replaceAll("'", "");
    await this.#run(`rm -f ${BEGUN_FILE} ${STOP_FILE}`);
    const writing = this.#run(`ORDER='${order}' node /observer/main.cjs`);
    writing.catch(() => undefined);
    try {
      const begun = this.#run(`timeout ${BEGIN_SECONDS} sh -c 'until [ -e ${BEGUN_FILE} ]; do sleep 0.1; done'`);
      await Promise.race([begun, writing]);
      await change();
      await pause(afterMs);
    } finally {
      await this.#run(`touch ${STOP_FILE}`);
    }
    return JSON.parse(await writing) as Result<P>;
  }

  #run(script: string): Promise<string> {
    return this.here.run(this.name, CONTAINER, script);
  }
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

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
            // Without a request, the kernel lets this pod starve while servers and probes need the processors.
            resources: { requests: { cpu: "200m", memory: "64Mi" } },
            securityContext: CONTAINER_SECURITY_CONTEXT,
            volumeMounts: mounts,
          },
        ],
        volumes,
      },
    },
  ] as KubernetesObject[];
}
