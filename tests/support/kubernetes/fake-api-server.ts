/**
 * An API server of tests' own: objects by their path, and pods that are servers on this machine, which port-forwards reach. The
 * real client, the real handlers and the real servers meet at it; only Kubernetes is missing.
 */
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { type AddressInfo, connect as dial } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import type { Deployment } from "../../../valkey/deployment";
import type { DeploymentNode } from "../../../valkey/node";

const NAMESPACE = "valkey";
const CONTAINER = "valkey";
const LABELS = { "app.kubernetes.io/instance": "test" };
const COLLECTIONS = [
  ...["pods", "nodes", "secrets", "configmaps", "statefulsets", "events"],
  ...["persistentvolumeclaims", "persistentvolumes", "storageclasses"],
];
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

type Stored = Readonly<Record<string, unknown>>;

export class FakeApiServer {
  /** `METHOD PATH` of every request. */
  readonly requests: string[] = [];
  /** Objects and lists by path. Tests may change them. */
  readonly objects = new Map<string, Stored>();
  readonly #ports = new Map<string, number>();
  readonly #forwards = new Set<WebSocket>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<FakeApiServer> {
    const server = createServer();
    const fake = new FakeApiServer(server);
    server.on("request", (request, response) => void fake.#answer(request, response));
    fake.#forwardPorts();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    fake.objects.set("/version", { major: "1", minor: "35", gitVersion: "v1.35.0" });
    return fake;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  get kubeconfig(): string {
    const { port } = this.server.address() as AddressInfo;
    return kubeconfigOf(`http://127.0.0.1:${port}`);
  }

  serve(
    { name, mode, nodes, directives, sentinels }: Deployment,
    shape: KubernetesReference["shape"],
  ): KubernetesReference {
    const target: KubernetesReference = {
      ...{ platform: "kubernetes", name, mode, shape, kubeconfig: this.kubeconfig, namespace: NAMESPACE },
      ...{ statefulSet: name, container: CONTAINER, port: 6379, service: "" },
      zones: [...new Set(nodes.flatMap(({ zone }) => zone ?? []))],
      directives: Object.fromEntries(directives),
    };
    this.#serveSet(name, nodes);
    if (sentinels === undefined) return target;
    const statefulSet = `${name}-sentinel`;
    this.#serveSet(statefulSet, sentinels.nodes);
    return {
      ...target,
      sentinel: { statefulSet, port: 26_379, settings: sentinels.settings, secret: { name: "", key: "" } },
    };
  }

  /** Breaks all port-forwards, as a restart of the API server does. @returns how many were open */
  breakForwards(): number {
    const open = [...this.#forwards];
    for (const socket of open) socket.terminate();
    return open.length;
  }

  stopContainer(pod: string): void {
    const path = `${PODS}/${pod}`;
    const object = this.objects.get(path);
    if (object === undefined) throw new Error(`there is no pod ${pod}`);
    const containerStatuses = [
      { name: CONTAINER, image: "", restartCount: 5, state: { waiting: { reason: "CrashLoopBackOff" } } },
    ];
    this.objects.set(path, { ...object, status: { phase: "Running", podIP: "127.0.0.1", containerStatuses } });
  }

  limitMemory(pod: string, memory: string): void {
    const path = `${PODS}/${pod}`;
    const object = this.objects.get(path);
    if (object === undefined) throw new Error(`there is no pod ${pod}`);
    const containers = [{ name: CONTAINER, image: "valkey:9.1", resources: { limits: { memory } } }];
    this.objects.set(path, { ...object, spec: { nodeName: pod, containers } });
  }

  deleteSet(name: string): void {
    this.objects.delete(setPath(name));
  }

  #serveSet(name: string, nodes: readonly DeploymentNode[]): void {
    const labels = { ...LABELS, set: name };
    this.objects.set(setPath(name), {
      metadata: { name, generation: 1 },
      spec: { replicas: nodes.length, selector: { matchLabels: labels }, template: { metadata: { labels } } },
      // Probes fail.
      status: { observedGeneration: 1 },
    });
    for (const [index, node] of nodes.entries()) {
      const pod = `${name}-${index}`;
      this.#ports.set(pod, node.endpoint.port);
      this.objects.set(`/api/v1/nodes/${pod}`, {
        metadata: { name: pod, labels: { "topology.kubernetes.io/zone": node.zone ?? "" } },
      });
      this.objects.set(`${PODS}/${pod}`, {
        metadata: { name: pod, namespace: NAMESPACE, labels },
        spec: { nodeName: pod, containers: [{ name: CONTAINER, image: "valkey:9.1" }] },
        status: {
          phase: "Running",
          podIP: node.endpoint.host,
          containerStatuses: [{ name: CONTAINER, image: "", restartCount: 0, state: { running: {} } }],
        },
      });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const { method = "GET" } = request;
    this.requests.push(`${method} ${pathname}`);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const answer = this.#carryOut(method, pathname, searchParams, body);
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { kind: "Status", message: `there is no ${pathname}`, code: 404 }));
  }

  #carryOut(method: string, path: string, parameters: URLSearchParams, body: string): Stored | undefined {
    const found = this.objects.get(path);
    if (method === "GET") return found ?? this.#list(path, parameters.get("labelSelector") ?? "");
    if (method === "DELETE") return this.objects.delete(path) ? {} : undefined;
    const object = JSON.parse(body) as { readonly metadata?: { readonly name?: string } };
    this.objects.set(method === "POST" ? `${path}/${object.metadata?.name ?? ""}` : path, object);
    return object;
  }

  #list(path: string, selector: string): Stored | undefined {
    if (!COLLECTIONS.includes(path.slice(path.lastIndexOf("/") + 1))) return undefined;
    const items = [...this.objects].flatMap(([at, object]) => {
      const { labels = {} } = (object["metadata"] ?? {}) as { readonly labels?: Record<string, string> };
      const matches = selector.split(",").every((each) => {
        const [key = "", value] = each.split("=");
        return key === "" || labels[key] === value;
      });
      return matches && at.slice(0, at.lastIndexOf("/")) === path ? [object] : [];
    });
    return { items };
  }

  /** A websocket's first frames name the port; then bytes go both ways. */
  #forwardPorts(): void {
    const sockets = new WebSocketServer({ server: this.server, handleProtocols: () => "v4.channel.k8s.io" });
    sockets.on("connection", (socket, request) => {
      const url = request.url ?? "";
      this.requests.push(`FORWARD ${url.split("?")[0] ?? ""}`);
      const pod = /\/pods\/([^/]+)\/portforward/.exec(url)?.[1] ?? "";
      const server = dial(this.#ports.get(pod) ?? 0, "127.0.0.1");
      for (const channel of [0, 1]) socket.send(Buffer.from([channel, 0, 0]));
      socket.on("message", (frame: Buffer) => server.write(frame.subarray(1)));
      this.#forwards.add(socket);
      socket.on("close", () => {
        this.#forwards.delete(socket);
        server.destroy();
      });
      server.on("data", (data) => {
        socket.send(Buffer.concat([Buffer.from([0]), data]));
      });
      server.on("error", (error) => {
        socket.send(Buffer.concat([Buffer.from([1]), Buffer.from(error.message)]));
      });
      server.on("close", () => {
        socket.close();
      });
    });
  }
}

const setPath = (name: string): string => `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/${name}`;

export function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
  });
}
