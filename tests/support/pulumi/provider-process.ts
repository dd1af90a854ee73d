/** The provider `valkey` as the engine starts and calls it: by Pulumi's loader of plugins, over gRPC. */
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "../../../lib/system/package";

const load = createRequire(__filename);
const requireAsPulumi = createRequire(load.resolve("@pulumi/pulumi"));
const grpc = requireAsPulumi("@grpc/grpc-js") as {
  readonly credentials: { createInsecure(): unknown };
  readonly ServerCredentials: { createInsecure(): unknown };
  readonly Server: new () => EngineServer;
};
const engine = load("@pulumi/pulumi/proto/engine_grpc_pb.js") as { readonly EngineService: unknown };
const services = load("@pulumi/pulumi/proto/provider_grpc_pb.js") as Readonly<
  Record<string, new (address: string, credentials: unknown) => Client>
>;
const messages = load("@pulumi/pulumi/proto/provider_pb.js") as Readonly<Record<string, new () => Message>>;
const empty = load("google-protobuf/google/protobuf/empty_pb.js") as { readonly Empty: new () => Message };
const struct = load("google-protobuf/google/protobuf/struct_pb.js") as {
  readonly Struct: { fromJavaScript(value: object): unknown };
};

type Message = Readonly<Record<string, (value?: unknown) => unknown>>;
type Client = Readonly<
  Record<string, (request: unknown, answered: (error: Error | null, answer: Message) => void) => void>
>;

interface EngineServer {
  addService(
    service: unknown,
    methods: { log(call: { request: Message }, answer: (error: null, value: unknown) => void): void },
  ): void;
  bindAsync(address: string, credentials: unknown, bound: (error: Error | null, port: number) => void): void;
  forceShutdown(): void;
}

export class ProviderProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly client: Client,
    private readonly host: EngineServer,
    private readonly heard: { readonly text: string },
  ) {}

  get output(): string {
    return this.heard.text;
  }

  static async start(plugin = join(ROOT, "components", "plugin")): Promise<ProviderProcess> {
    const loader = createRequire(join(plugin, "main.cjs")).resolve("@pulumi/pulumi/cmd/run-plugin/index.js");
    const host = new grpc.Server();
    const heard = { text: "" };
    host.addService(engine.EngineService, {
      log: ({ request }, answer) => {
        heard.text += `${String(request["getMessage"]?.())}\n`;
        answer(null, new empty.Empty());
      },
    });
    const address = await new Promise<string>((resolve, reject) => {
      host.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, at) => {
        if (error === null) resolve(`127.0.0.1:${at}`);
        else reject(error);
      });
    });
    const child = spawn(process.execPath, [loader, plugin, address], { cwd: plugin });
    let printed = "";
    const port = await new Promise<string>((resolve, reject) => {
      child.once("exit", () => {
        reject(new Error(printed));
      });
      child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
      child.stdout.once("data", (chunk: Buffer) => {
        resolve(chunk.toString().trim());
      });
    });
    const Service = services["ResourceProviderClient"];
    if (Service === undefined) throw new Error("Pulumi has no service for providers");
    return new ProviderProcess(child, new Service(`127.0.0.1:${port}`, grpc.credentials.createInsecure()), host, heard);
  }

  async create(
    type: string,
    properties: object,
  ): Promise<{ readonly id: string; readonly properties: Record<string, unknown> }> {
    const answer = await this.call("create", "CreateRequest", {
      setUrn: `urn:pulumi:stack::project::${type}::name`,
      setProperties: struct.Struct.fromJavaScript(properties),
    });
    const outputs = answer["getProperties"]?.() as { toJavaScript(): Record<string, unknown> };
    return { id: String(answer["getId"]?.()), properties: outputs.toJavaScript() };
  }

  async update(type: string, olds: object, news: object): Promise<Record<string, unknown>> {
    const answer = await this.call("update", "UpdateRequest", {
      setId: "name",
      setUrn: `urn:pulumi:stack::project::${type}::name`,
      setOlds: struct.Struct.fromJavaScript(olds),
      setNews: struct.Struct.fromJavaScript(news),
    });
    return (answer["getProperties"]?.() as { toJavaScript(): Record<string, unknown> }).toJavaScript();
  }

  async cancel(): Promise<void> {
    await this.send("cancel", new empty.Empty());
  }

  stop(): void {
    this.child.kill("SIGKILL");
    this.host.forceShutdown();
  }

  private call(method: string, type: string, fields: Readonly<Record<string, unknown>>): Promise<Message> {
    const Request = messages[type];
    if (Request === undefined) throw new Error(`Pulumi has no message ${type}`);
    const request = new Request();
    for (const [setter, value] of Object.entries(fields)) request[setter]?.(value);
    return this.send(method, request);
  }

  private send(method: string, request: Message): Promise<Message> {
    return new Promise((resolve, reject) => {
      this.client[method]?.(request, (error, answer) => {
        if (error === null) resolve(answer);
        else reject(error);
      });
    });
  }
}
