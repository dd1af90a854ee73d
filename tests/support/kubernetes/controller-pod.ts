/** The controller of a deployment: its looks, metrics and Events. */
import type { V1Pod } from "@kubernetes/client-node";
import { objectNames } from "../../../components/kubernetes/names";
import type { Look } from "../../../operations/inspection/look";
import type { LiveDeployment } from "./live-deployment";
import { podLabels } from "./deployed-pods";
import { isReady } from "./throw-away";

export class ControllerPod {
  constructor(private readonly live: Pick<LiveDeployment, "here" | "name">) {}

  /** The controller's pods. One that is going away may be among them. */
  controllerPods(): Promise<V1Pod[]> {
    const { here, name } = this.live;
    return here.pods({ ...podLabels(name), "app.kubernetes.io/name": "valkey-controller" });
  }

  async ask(path: string): Promise<string> {
    return this.run(`node -e 'fetch("http://localhost:9122${path}").then((r) => r.text()).then(console.log)'`);
  }

  /** Runs a script in the controller's container. A busy machine may answer the container's probes late. */
  async run(script: string): Promise<string> {
    const { here } = this.live;
    let pod = "";
    await here.until(60, async () => {
      pod = (await this.controllerPods()).find(isReady)?.metadata?.name ?? "";
      return pod === "" ? "the controller is not ready" : undefined;
    });
    return here.run(pod, "controller", script);
  }

  async look(): Promise<Look | undefined> {
    const [look] = JSON.parse(await this.ask("/looks")) as Look[];
    return look;
  }

  /** Waits until a look has begun after this call and has this verdict. */
  async untilLook(seconds: number, isWanted: (look: Look) => boolean): Promise<void> {
    const asked = Date.now();
    await this.live.here.until(seconds, async () => {
      const look = await this.look();
      return look !== undefined && Date.parse(look.at) > asked && isWanted(look)
        ? undefined
        : JSON.stringify(look ?? "no look");
    });
  }

  async events(): Promise<string[]> {
    const { core, namespace } = this.live.here;
    const { items } = await core.listNamespacedEvent({ namespace });
    return items
      .filter(({ source }) => source?.component === "valkey-controller")
      .map(({ reason, message }) => `${reason ?? ""}: ${message ?? ""}`);
  }

  get lease(): string {
    return objectNames(this.live.name).controller;
  }
}
