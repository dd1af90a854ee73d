/**
 * Failed requests are not repeated: callers ask again, and `pods/pod-changes.ts` reopens ended watches. The client
 * library is loaded at first use, because loading takes time.
 */
import { Agent } from "node:https";
import type {
  AppsV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  Configuration,
  ConfigurationOptions,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  DiscoveryV1Api,
  KubeConfig,
  PolicyV1Api,
  StorageV1Api,
  RequestContext,
  SecurityAuthentication,
} from "@kubernetes/client-node";
import { didYouMean } from "../../../lib/did-you-mean";
import { BadInput, codeOf, Failure, messageOf } from "../../../lib/errors";
import { type ApiServer, explainApiError, statusInError } from "./api-errors";
import type * as ClientLibrary from "./client-library.mjs";

/** Short, so that the next verification opens a new connection, and no request waits for a broken one. */
const CLOSE_UNUSED_MS = 5_000;

export interface KubeconfigSelection {
  /** Path or text. @default KUBECONFIG, else ~/.kube/config, else a pod's own service account */
  readonly kubeconfig?: string | undefined;
  /** Name of the context. @default the current context of the kubeconfig */
  readonly context?: string | undefined;
}

const ANSWER_TIMEOUT_MS = 15_000;

type Library = typeof ClientLibrary;

export class KubernetesClient implements ApiServer {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly batch: BatchV1Api;
  readonly storage: StorageV1Api;
  readonly authorization: AuthorizationV1Api;
  readonly custom: CustomObjectsApi;
  readonly discovery: DiscoveryV1Api;
  readonly policy: PolicyV1Api;
  readonly coordination: CoordinationV1Api;
  readonly serverSideApply: ConfigurationOptions;

  private constructor(
    library: Library,
    configuration: Configuration,
    readonly config: KubeConfig,
    readonly context: string,
    readonly server: string,
  ) {
    this.core = new library.CoreV1Api(configuration);
    this.apps = new library.AppsV1Api(configuration);
    this.batch = new library.BatchV1Api(configuration);
    this.storage = new library.StorageV1Api(configuration);
    this.authorization = new library.AuthorizationV1Api(configuration);
    this.custom = new library.CustomObjectsApi(configuration);
    this.discovery = new library.DiscoveryV1Api(configuration);
    this.policy = new library.PolicyV1Api(configuration);
    this.coordination = new library.CoordinationV1Api(configuration);
    this.serverSideApply = library.setHeaderOptions("Content-Type", library.PatchStrategy.ServerSideApply);
  }

  /** Sends one request, to report problems at once. @throws BadInput for the kubeconfig; Failure for the API server */
  static async open(access: KubeconfigSelection = {}): Promise<KubernetesClient> {
    const library = await import("./client-library.mjs");
    const config = load(new library.KubeConfig(), access);
    const { context, server } = choose(config, access);
    config.setCurrentContext(context);
    const configuration = configurationOf(library, config, server);
    const kubernetes = new KubernetesClient(library, configuration, config, context, server);
    const version = new library.VersionApi(configuration);
    await kubernetes.call("asking for its version", version.getCode());
    return kubernetes;
  }

  /** @param doing for messages, such as `reading the pods of namespace x` @throws Failure that says what to do */
  async call<T>(doing: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw new Failure(explainApiError(error, doing, this), { cause: error });
    }
  }

  async find<T>(doing: string, answer: Promise<T>): Promise<T | undefined> {
    const known = answer.catch((error: unknown) => {
      if (statusInError(error)?.code === 404) return undefined;
      throw error;
    });
    return this.call(doing, known);
  }
}

function configurationOf(library: Library, config: KubeConfig, server: string): Configuration {
  return library.createConfiguration({
    baseServer: new library.ServerConfiguration(server, {}),
    authMethods: { default: new SharedAgent(config) },
    promiseMiddleware: [
      {
        pre: (request) => {
          request.setSignal(AbortSignal.timeout(ANSWER_TIMEOUT_MS));
          return Promise.resolve(request);
        },
        post: (response) => Promise.resolve(response),
      },
    ],
  });
}

function load(config: KubeConfig, { kubeconfig }: KubeconfigSelection): KubeConfig {
  const isText = kubeconfig !== undefined && /[\n{]/.test(kubeconfig);
  const from = isText ? "the kubeconfig given" : (kubeconfig ?? process.env["KUBECONFIG"] ?? "~/.kube/config");
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else if (isText) config.loadFromString(kubeconfig);
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    const code = codeOf(error);
    const why =
      code === "ENOENT"
        ? "the file does not exist"
        : code === "EACCES"
          ? "it is not readable"
          : `it is not a kubeconfig (${messageOf(error).split("\n")[0] ?? ""})`;
    throw BadInput.of(
      "kubeconfig",
      "unreadable",
      `${from}: ${why}; name the kubeconfig of a cluster, or set KUBECONFIG`,
    );
  }
  return config;
}

/** Name of the context that the library invents if it finds no kubeconfig. */
const NO_KUBECONFIG = "loaded-context";

function choose(
  config: KubeConfig,
  { context }: KubeconfigSelection,
): { readonly context: string; readonly server: string } {
  const known = config.getContexts().map(({ name }) => name);
  const current = config.getCurrentContext() as string | undefined;
  if (known.length === 0) throw BadInput.of("kubeconfig", "no-contexts", "it has no contexts");
  if (current === NO_KUBECONFIG)
    throw BadInput.of(
      "kubeconfig",
      "no-kubeconfig",
      "no file was found: KUBECONFIG is not set, and ~/.kube/config does not exist; name the kubeconfig of a cluster",
    );
  const name = context ?? current;
  if (name === undefined || name === "")
    throw BadInput.of("kubeconfig", "no-current-context", `it has no current context; name one of ${known.join(", ")}`);
  if (!known.includes(name))
    throw BadInput.of(
      "kubeconfig",
      "no-such-context",
      `it has no context ${name};${didYouMean(name, known)} Contexts: ${known.join(", ")}`,
    );
  const server = config.getCluster(config.getContextObject(name)?.cluster ?? "")?.server;
  if (server === undefined || server === "")
    throw BadInput.of(
      "kubeconfig",
      "no-such-cluster",
      `context ${name} names a cluster that the kubeconfig does not describe`,
    );
  return { context: name, server };
}

/** The client library opens a connection for each request, whose TLS handshakes need more CPU than everything else. */
class SharedAgent implements SecurityAuthentication {
  #agent: Agent | undefined;
  #key = "";

  constructor(private readonly method: SecurityAuthentication) {}

  getName(): string {
    return this.method.getName();
  }

  async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await this.method.applySecurityAuthentication(context);
    const own = context.getAgent();
    // Agents of a subclass belong to proxies, and stay as they are.
    if (!(own instanceof Agent) || own.constructor !== Agent) return;
    // A certificate may have been replaced since the last request.
    const key = own.getName(own.options);
    if (this.#agent === undefined || key !== this.#key)
      this.#agent = new Agent({ ...own.options, keepAlive: true, timeout: CLOSE_UNUSED_MS });
    this.#key = key;
    context.setAgent(this.#agent);
  }
}
