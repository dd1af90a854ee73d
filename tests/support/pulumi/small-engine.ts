/**
 * A small engine: runs a program, and performs each of its resources by the provider of this project or by the API
 * server, in the order of their dependencies. It keeps the state in memory, deletes at the end what the program does
 * not declare any more, and stops at the first failure. Pulumi's own engine is not needed for it.
 */
import { setImmediate } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { Semaphore } from "../../../lib/semaphore";
import { VERSION } from "../../../lib/system/package";
import { type Values, canonicalJson } from "../../../operations/protocol/engine-values";
import { RESOURCE_NAMES, resourceType } from "../../../operations/provider/kinds";
import { ValkeyProvider, UpdateFailed } from "../../../operations/provider/valkey-provider";
import type { KubernetesObject } from "../kubernetes/kubernetes-objects";
import { acceptTransforms } from "./mock-transforms";
import { plainInputs } from "./pulumi-mocks";

/** The API server, as the engine's provider for Kubernetes uses it. */
export interface ObjectStore {
  /** Creates or changes an object, and waits until it works. @returns the object */
  apply(object: KubernetesObject): Promise<KubernetesObject>;
  read(object: KubernetesObject): Promise<unknown>;
  delete(object: KubernetesObject): Promise<void>;
}

interface Performed {
  readonly type: string;
  readonly name: string;
  readonly id: string;
  readonly inputs: Values;
  readonly state: Values;
}

/** Steps of an update, by resource: `create Rollout orders`. */
export interface Update {
  readonly done: readonly string[];
  readonly lines: readonly string[];
}

export class SmallEngine {
  readonly #resources = new Map<string, Performed>();

  constructor(private readonly objects: ObjectStore) {}

  state(kind: string, name: string): Values | undefined {
    return this.#resources.get(`valkey:index:${kind} ${name}`)?.state;
  }

  /**
   * `pulumi up`.
   * @param killedBefore what would be done next when the engine is killed, such as `update StatefulSet orders`
   * @throws the first failure, after what ran at that time has ended
   */
  up(program: () => unknown, killedBefore?: string): Promise<Update> {
    return ONE_AT_A_TIME.run(async () => {
      const run = new Run(this.#resources, this.objects, false, killedBefore);
      await run.perform(program);
      await run.deleteOthers();
      return run;
    });
  }

  preview(program: () => unknown): Promise<Update & { readonly problems: readonly string[] }> {
    return ONE_AT_A_TIME.run(async () => {
      const run = new Run(this.#resources, this.objects, true);
      await run.perform(program);
      return run;
    });
  }

  async refresh(): Promise<void> {
    const provider = new ValkeyProvider(VERSION, undefined, () => undefined);
    for (const [key, each] of this.#resources) {
      if (!isOwn(each.type)) continue;
      const read = await provider.read(each.id, urnOf(each), each.state);
      this.#resources.set(key, { ...each, state: (read.props ?? {}) as Values });
    }
  }

  async destroy(): Promise<void> {
    await this.up(() => undefined);
  }
}

/** The SDK's runtime, and so its mocks, are one for the whole process. */
const ONE_AT_A_TIME = new Semaphore(1);
/** Whether the provider has the resource; components have the same prefix. */
const isOwn = (type: string): boolean => RESOURCE_NAMES.some((name) => resourceType(name) === type);
const isObject = (type: string, inputs: Values): boolean =>
  type.startsWith("kubernetes:") && typeof inputs["kind"] === "string";
const urnOf = ({ type, name }: Pick<Performed, "type" | "name">): string => `urn:pulumi:test::valkey::${type}::${name}`;

class Run implements Update {
  readonly done: string[] = [];
  readonly lines: string[] = [];
  readonly problems: string[] = [];
  readonly #seen = new Set<string>();
  readonly #ignored = new Map<string, readonly string[]>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #provider = new ValkeyProvider(VERSION, undefined, (_urn, line) => this.lines.push(line));
  #fail: (error: unknown) => void = () => undefined;
  #hasFailed = false;

  constructor(
    private readonly resources: Map<string, Performed>,
    private readonly objects: ObjectStore,
    private readonly isPreview = false,
    private readonly killedBefore?: string,
  ) {}

  #do(what: string): void {
    if (what === this.killedBefore) throw new Error(`killed before: ${what}`);
    this.done.push(what);
  }

  async perform(program: () => unknown): Promise<void> {
    const failed = new Promise<never>((_resolve, reject) => (this.#fail = reject));
    failed.catch(() => undefined);
    await pulumi.runtime.setMocks(
      {
        newResource: ({ type, name, inputs, custom = false, id = "" }) =>
          this.#track(() =>
            id === "" ? this.#register(type, name, plainInputs(inputs), custom) : this.#read(type, id),
          ),
        call: ({ token }) => {
          throw new Error(`${token} is not expected`);
        },
      },
      "valkey",
      "test",
      this.isPreview,
    );
    acceptTransforms();
    const whole = pulumi.runtime.runInPulumiStack(async () => {
      pulumi.runtime.registerStackTransformation(({ type, name, opts }) => {
        this.#ignored.set(`${type} ${name}`, opts.ignoreChanges ?? []);
        return undefined;
      });
      try {
        await program();
      } catch (error) {
        this.#fail(error);
      }
    });
    // The stack has ended before its resources are registered.
    const registered = whole.then(() => pulumi.runtime.disconnect());
    registered.catch(() => undefined);
    // An error in a function of an output: one rejection for each resource that depends on it, and the first one counts.
    const others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", this.#fail);
    try {
      await Promise.race([registered, failed]);
      // Rejections are reported when the queue of promises is empty.
      await Promise.race([setImmediate(), failed]);
    } finally {
      this.#hasFailed = true;
      await Promise.allSettled(this.#running);
      await setImmediate();
      process.off("unhandledRejection", this.#fail);
      for (const other of others) process.on("unhandledRejection", other);
    }
  }

  async deleteOthers(): Promise<void> {
    for (const [key, each] of [...this.resources].reverse()) {
      if (this.#seen.has(key)) continue;
      if (isOwn(each.type)) await this.#provider.delete(each.id, urnOf(each), each.state);
      // A patch goes with its object.
      else if (isObject(each.type, each.inputs) && !each.type.endsWith("Patch"))
        await this.objects.delete(each.inputs as unknown as KubernetesObject);
      this.resources.delete(key);
      if (each.id !== "") this.done.push(`delete ${each.type.split(":").at(-1) ?? ""} ${each.name}`);
    }
  }

  /** A resource that fails is never registered, and none is that comes later, so that the program stays where it is. */
  async #track<T>(register: () => Promise<T>): Promise<T> {
    if (this.#hasFailed) return new Promise<never>(() => undefined);
    const running = register();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      this.#hasFailed = true;
      this.#fail(error);
      return await new Promise<never>(() => undefined);
    } finally {
      this.#running.delete(running);
    }
  }

  async #register(type: string, name: string, inputs: Values, custom: boolean): Promise<{ id: string; state: Values }> {
    const key = `${type} ${name}`;
    this.#seen.add(key);
    const known = this.resources.get(key);
    const keep = (performed: Pick<Performed, "id" | "inputs" | "state">): { id: string; state: Values } => {
      if (!this.isPreview) this.resources.set(key, { type, name, ...performed });
      return { id: performed.id, state: performed.state };
    };
    const isPlain = !custom || (!isOwn(type) && !isObject(type, inputs));
    if (isPlain) return keep({ id: name, inputs, state: inputs });
    return isOwn(type)
      ? keep(await this.#performOwn(type, name, inputs, known))
      : keep(await this.#performObject(type, name, inputs, known));
  }

  /** An object of others, which a program reads. @param id its namespace and name */
  async #read(type: string, id: string): Promise<{ id: string; state: Values }> {
    const [, group = "", kind = ""] = type.split(":");
    const [namespace = "", name = ""] = id.split("/");
    const object = { apiVersion: group.replace(/^core\//, ""), kind, metadata: { name, namespace } };
    return { id, state: (await this.objects.read(object)) as Values };
  }

  async #performOwn(type: string, name: string, declared: Values, known: Performed | undefined): Promise<Performed> {
    const urn = urnOf({ type, name });
    const checked = await this.#provider.check(urn, known?.inputs ?? {}, declared);
    const problems = (checked.failures ?? []).map(({ property, reason }) =>
      property === "" ? reason : `${property}: ${reason}`,
    );
    this.problems.push(...problems);
    if (problems.length > 0 && !this.isPreview) throw new Error(problems.join("\n"));
    const inputs = checked.inputs as Values;
    const kind = type.split(":").at(-1) ?? "";
    if (known === undefined) {
      this.#do(`create ${kind} ${name}`);
      if (this.isPreview) return { type, name, id: name, inputs, state: inputs };
      const created = await this.#provider.create(urn, inputs);
      return { type, name, id: created.id, inputs, state: created.outs as Values };
    }
    const { changes, replaces = [] } = await this.#provider.diff(known.id, urn, known.state, inputs);
    if (changes !== true) return known;
    this.#do(`${replaces.length > 0 ? "replace" : "update"} ${kind} ${name}`);
    if (this.isPreview) return known;
    if (replaces.length > 0) {
      await this.#provider.delete(known.id, urn, known.state);
      const created = await this.#provider.create(urn, inputs);
      return { type, name, id: created.id, inputs, state: created.outs as Values };
    }
    try {
      const updated = await this.#provider.update(known.id, urn, known.state, inputs);
      return { type, name, id: known.id, inputs, state: updated.outs as Values };
    } catch (error) {
      // What the failed update leaves in the state, as the engine keeps it.
      if (error instanceof UpdateFailed)
        this.resources.set(`${type} ${name}`, { ...known, inputs, state: error.properties });
      throw error;
    }
  }

  async #performObject(type: string, name: string, declared: Values, known: Performed | undefined): Promise<Performed> {
    const ignored = this.#ignored.get(`${type} ${name}`) ?? [];
    const inputs = ignored.reduce((all, path) => (known ? withValueOf(all, known.inputs, path) : all), declared);
    if (known !== undefined && canonicalJson(known.inputs) === canonicalJson(inputs)) return known;
    const kind = type.split(":").at(-1) ?? "";
    this.#do(`${known === undefined ? "create" : "update"} ${kind} ${name}`);
    if (this.isPreview) return { type, name, id: name, inputs, state: inputs };
    const wanted = inputs as unknown as KubernetesObject;
    const live =
      known === undefined || ignored.length === 0 ? undefined : ((await this.objects.read(wanted)) as Values);
    // Ignored fields belong to others, whose values stay.
    const applied = live === undefined ? inputs : ignored.reduce((all, path) => withValueOf(all, live, path), inputs);
    const state = await this.objects.apply(applied as unknown as KubernetesObject);
    return { type, name, id: name, inputs, state: state as unknown as Values };
  }
}

/** The values, with those at a path such as `spec.selector` taken from others. */
function withValueOf(values: Values, others: Values, path: string): Values {
  const [first = "", ...rest] = path.split(".");
  if (rest.length === 0) return { ...values, [first]: others[first] };
  const [own, other] = [values[first], others[first]];
  return { ...values, [first]: withValueOf((own ?? {}) as Values, (other ?? {}) as Values, rest.join(".")) };
}
