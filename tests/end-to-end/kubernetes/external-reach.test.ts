/**
 * Clients outside the Kubernetes cluster. This machine has an address that is no pod's, and reaches Services as any
 * other machine does. No controller of load balancers is there: a patch of the Services' status stands for it, by which
 * kube-proxy forwards connections to their addresses.
 */
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExternalReach } from "../../../model/deployment";
import { externalServices } from "../../../components/kubernetes/servers/external-services";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import { type KubernetesReference, openDeployment } from "../../../platforms/deployment-reference";
import type {
  ExternalAddressesInputs,
  ExternalAddressesOutputs,
} from "../../../operations/handlers/deployment/external-addresses";
import { handler } from "../../../operations/handlers/deployment/external-addresses";
import { form } from "../../../valkey/formation/form";
import { formatEndpoint } from "../../../valkey/node";
import { slotTags } from "../../../valkey/topology/slot-tags";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { isStaying, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { IMAGE, plainServers } from "../../support/kubernetes/server-args";

const NAME = "reached";
const PASSWORD = "known to all of them";
const SETTINGS = { save: "", "cluster-node-timeout": 2000 } as const;
const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": NAME };
const SHAPE = { primaries: 3, replicasPerPrimary: 0 };
const KIND = { mode: "cluster", shape: SHAPE } as const;
/** For documentation: nothing else has them. */
const BALANCERS = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

describe.skipIf(KUBECONFIG === undefined)(`clients outside${WHERE}`, { timeout: 240_000 }, () => {
  let here: ThrowAway;
  let target: KubernetesReference;
  let state: ExternalAddressesInputs & ExternalAddressesOutputs;

  const inputs = (type: ExternalReach["type"] | null, timeoutSeconds = 60): ExternalAddressesInputs => ({
    ...{ target, password: PASSWORD, image: IMAGE, revision: "1", timeoutSeconds },
    external: type === null ? undefined : { type, services: externalServices(NAME, KIND) },
  });
  const apply = async (type?: ExternalReach["type"]): Promise<void> => {
    const placement = { zones: target.zones, hostAntiAffinity: "preferred" } as const;
    const args = { ...plainServers, namespace: here.namespace, placement, settings: SETTINGS, shape: SHAPE };
    await here.apply(
      await renderObjects(
        () =>
          new ClusterServers(NAME, {
            ...args,
            ...{ password: PASSWORD, imagePullPolicy: "IfNotPresent" },
            external: type && { type },
          }),
      ),
    );
  };
  /** As `up`: the Services, then the nodes, then what pods start with. */
  const change = async (type: ExternalReach["type"] | null): Promise<void> => {
    if (type !== null) await apply(type);
    const news = inputs(type);
    const update = handler.update ?? ((): never => expect.unreachable());
    state = { ...news, ...(await update(NAME, state, news, HANDLER_CONTEXT)) };
    await publish(state.files);
  };
  const publish = async (files: ExternalAddressesOutputs["files"]): Promise<void> => {
    const metadata = { name: `${NAME}-announced`, namespace: here.namespace };
    await here.apply([{ apiVersion: "v1", kind: "ConfigMap", metadata, data: files } as never]);
  };
  const tell = (pod: string, commands: string): Promise<string> =>
    here.run(pod, "valkey", `. /valkey/scripts/node.sh; printf '${commands}\\n' | tell localhost 5`);
  const given = async (pod = `${NAME}-0`): Promise<string[]> =>
    [...(await tell(pod, "CLUSTER NODES")).matchAll(/^\S+ ([\d.]+:\d+)@/gm)].map(([, at = ""]) => at).sort();
  const addressesOfPods = async (): Promise<string[]> =>
    (await openDeployment(target, PASSWORD)).nodes.map(({ endpoint }) => formatEndpoint(endpoint)).sort();

  async function writeAllSlots(endpoint: string): Promise<string[]> {
    const [host = "", port = ""] = endpoint.split(":");
    const client = new Cluster([{ host, port: Number(port) }], {
      redisOptions: { password: PASSWORD, commandTimeout: 30_000 },
    });
    client.on("error", () => undefined);
    try {
      const answers = await Promise.all(slotTags().map((tag) => client.set(`{${tag}}`, "x")));
      expect(answers).toHaveLength(16_384);
      return client
        .nodes("master")
        .map(({ options }) => `${options.host ?? ""}:${options.port ?? 0}`)
        .sort();
    } finally {
      client.disconnect();
    }
  }

  beforeAll(async () => {
    here = await ThrowAway.open();
    const zones = (await here.zones()).slice(0, 3);
    const location = { namespace: here.namespace, zones, settings: SETTINGS };
    target = { ...podReference(NAME, KIND, location), kubeconfig: KUBECONFIG };
    await apply();
    await here.untilReady(LABELS, SHAPE.primaries, 120);
    await form(await openDeployment(target, PASSWORD), SHAPE);
    const off = inputs(null);
    state = { ...off, ...(await handler.create(off, HANDLER_CONTEXT)).outputs };
  }, 200_000);
  afterAll(() => here.close(), 200_000);

  it("reach every slot by node ports, of which clients inside are told as well, and no pod restarts", async () => {
    const before = await here.pods(LABELS);
    await change("NodePort");
    expect(state.endpoints).toHaveLength(3);
    expect(await given()).toEqual([...state.endpoints].sort());
    expect(await writeAllSlots(state.endpoints[0] ?? "")).toEqual([...state.endpoints].sort());
    // In a pod of the cluster, three keys of which two at least are elsewhere.
    const inside = `for key in a b c; do valkey-cli --no-auth-warning -a "$(cat $VALKEY_PASSWORD_FILE)" -c -h ${NAME} SET $key inside; done`;
    expect((await here.run(`${NAME}-0`, "valkey", inside)).trim()).toBe("OK\nOK\nOK");
    const after = await here.pods(LABELS);
    expect(after.map(({ metadata }) => metadata?.uid)).toEqual(before.map(({ metadata }) => metadata?.uid));
  });

  it("reach a node that has restarted on another machine than its file says", async () => {
    const pod = `${NAME}-1`;
    const former = Object.entries(state.files).map(([name, text]) => [name, text.replace(/ 10\.\S+/, " 192.0.2.99")]);
    expect(former).not.toEqual(Object.entries(state.files));
    await publish(Object.fromEntries(former) as ExternalAddressesOutputs["files"]);
    await here.core.deleteNamespacedPod({ namespace: here.namespace, name: pod });
    await here.until(60, async () =>
      (await here.pods(LABELS)).every(isStaying) ? undefined : `${pod} is still there`,
    );
    await here.until(60, async () => {
      const [found] = (await here.pods(LABELS)).filter(({ metadata }) => metadata?.name === pod);
      return found?.status?.phase === "Running" ? undefined : `${pod} does not run`;
    });
    const [host = "", port = ""] = state.endpoints[1]?.split(":") ?? [];
    await here.until(20, async () => {
      const said = await tell(pod, "CONFIG GET cluster-announce-client-*").catch(String);
      return said.includes(port) && said.includes(host) ? undefined : `${pod} says ${said}`;
    });
    await here.untilReady(LABELS, SHAPE.primaries, 120);
    await here.until(30, async () => {
      const found = await given();
      return found.join() === [...state.endpoints].sort().join() ? undefined : `clients are given ${found.join()}`;
    });
    expect(await writeAllSlots(state.endpoints[0] ?? "")).toEqual([...state.endpoints].sort());
  });

  it("wait for a load balancer's address, and are told why there is none", async () => {
    await apply("LoadBalancer");
    await expect(handler.create(inputs("LoadBalancer", 1), HANDLER_CONTEXT)).rejects.toThrow(
      /^after 1 s: Service reached-0-external has no address yet; check that a load balancer controller runs/,
    );
    // Nothing has changed.
    expect(await given()).toEqual([...state.endpoints].sort());
  });

  it("reach every slot by load balancers", async () => {
    for (const [index, name] of externalServices(NAME, KIND).entries())
      await here.core.patchNamespacedServiceStatus({
        name,
        namespace: here.namespace,
        body: [{ op: "add", path: "/status/loadBalancer", value: { ingress: [{ ip: BALANCERS[index] }] } }],
      });
    await change("LoadBalancer");
    expect(state.endpoints).toEqual(BALANCERS.map((ip) => `${ip}:6379`));
    expect(await writeAllSlots(state.endpoints[0] ?? "")).toEqual(state.endpoints);
  });

  it("are no more when it is turned off: nodes give the addresses of pods", async () => {
    await change(null);
    expect(state.endpoints).toEqual([]);
    expect(await given()).toEqual(await addressesOfPods());
    const seen = await handler.read?.(NAME, state, HANDLER_CONTEXT);
    expect(seen).toEqual({ endpoints: [], files: {}, drift: [] });
  });
});
