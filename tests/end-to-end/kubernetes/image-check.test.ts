/** Another image is looked at by one pod before servers are replaced. */
import { NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { imageCheckPod } from "../../../components/kubernetes/pods/image-check-pod";
import { objectNames } from "../../../components/kubernetes/names";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import { awaitCondition } from "../../../lib/polling";
import { type ImageCheckInputs, handler } from "../../../operations/handlers/deployment/image-check";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { IMAGE, plainServers } from "../../support/kubernetes/server-args";

const SHAPE = { primaries: 3, replicasPerPrimary: 0 };
const OLD_IMAGE = "docker.io/valkey/valkey:8.1.1";
const CHECK = { "app.kubernetes.io/name": "valkey-image-check" };

describe.skipIf(KUBECONFIG === undefined)(`another image${WHERE}`, { timeout: 120_000 }, () => {
  let here: ThrowAway;
  let zones: string[];
  const args = (image: string): typeof plainServers => ({
    ...plainServers,
    namespace: here.namespace,
    image,
    imagePullPolicy: "IfNotPresent",
    password: "secret",
    placement: { zones, hostAntiAffinity: "preferred" },
  });
  const inputs = (image: string): ImageCheckInputs => ({
    target: {
      ...podReference("shop", { mode: "cluster", shape: SHAPE }, { namespace: here.namespace, zones, settings: {} }),
      kubeconfig: KUBECONFIG,
    },
    password: "secret",
    image,
    pod: imageCheckPod({ deployment: "shop", names: objectNames("shop"), args: args(image), options: {} }),
    timeoutSeconds: 60,
  });
  const update = async (to: string, signal = new AbortController().signal): Promise<unknown> =>
    handler.update?.("shop", inputs(IMAGE), inputs(to), { ...HANDLER_CONTEXT, signal });
  const untilRemoved = (): Promise<void> =>
    awaitCondition("the pod is removed", async () => (await here.pods(CHECK)).length === 0, { timeoutMs: 20_000 });

  beforeAll(async () => {
    here = await ThrowAway.open();
    zones = (await here.zones()).slice(0, 3);
    await here.apply(
      await renderObjects(() => {
        new ClusterServers("shop", { ...args(IMAGE), shape: SHAPE });
      }),
    );
    await here.untilReady({ "app.kubernetes.io/instance": "shop" }, 3, 120);
  }, 200_000);
  afterAll(() => here.close(), 200_000);

  it("is taken where its server is of the same minor version", async () => {
    const lines: string[] = [];
    const report = (line: string): void => {
      lines.push(line);
    };
    // The same image by another name, which Kubernetes takes for another one.
    const again = IMAGE.replace("docker.io/", "");
    await handler.update?.("shop", inputs(IMAGE), inputs(again), { ...HANDLER_CONTEXT, report });
    expect(lines).toEqual(["shop: Valkey 9.1.2 becomes 9.1.2"]);
    await untilRemoved();
  });

  it("is refused where it is older, in a preview by its tag and else by its server", async () => {
    const reason =
      /shop runs Valkey 9\.1\.2, and Valkey 8\.1\.1 may be unable to read the data files of Valkey 9\.1\.2/;
    expect(await handler.check?.(inputs(IMAGE), inputs(OLD_IMAGE), HANDLER_CONTEXT)).toEqual([
      { code: "older-version", path: "image", message: expect.stringMatching(reason) as string },
    ]);
    await expect(update(OLD_IMAGE)).rejects.toThrow(reason);
    expect(await handler.check?.(inputs(OLD_IMAGE), inputs(IMAGE), HANDLER_CONTEXT)).toEqual([]);
    await untilRemoved();
  });

  it("is refused where it is not Valkey or cannot be pulled, and no pod is left", async () => {
    await expect(update(NODE_IMAGE)).rejects.toThrow(/nothing has changed: .*valkey-server: not found/);
    await expect(update("registry.invalid/valkey:9.1.3")).rejects.toThrow(
      /nothing has changed: .*registry.invalid\/valkey:9.1.3 cannot be pulled/,
    );
    await untilRemoved();
  });

  it("leaves no pod where the update is cancelled", async () => {
    const cancelled = new AbortController();
    const change = update("registry.invalid/valkey:9.1.3", cancelled.signal);
    void awaitCondition("the pod is there", async () => (await here.pods(CHECK)).length > 0, {
      timeoutMs: 20_000,
    }).then(() => {
      cancelled.abort(new Error("cancelled"));
    });
    await expect(change).rejects.toThrow("cancelled");
    await untilRemoved();
  });
});
