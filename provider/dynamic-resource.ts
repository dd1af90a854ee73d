/**
 * Dynamic resources whose work is done by a module of this project.
 *
 * Pulumi serialises a dynamic provider's functions into the state. What is serialised here is no more than "load that
 * module and call it": the work itself is read from the project at the time it is done, types, libraries and all.
 */
import type { createRequire } from "node:module";
import type * as pulumi from "@pulumi/pulumi";

/** What a dynamic resource does; the default export of its module. Inputs are outputs as well, so that a later diff has them. */
export interface ResourceHandler<Inputs extends object, Outputs extends object> {
  /** @throws Error to fail the update; the next one tries again */
  readonly create: (inputs: Inputs) => Promise<{ readonly id: string; readonly outputs: Outputs }>;
  /** @default create's outputs for the new inputs */
  readonly update?: (id: string, olds: Inputs & Outputs, news: Inputs) => Promise<Outputs>;
  /** @default nothing */
  readonly delete?: (id: string, olds: Inputs & Outputs) => Promise<void>;
  /** Whether the thing still is there. @default it is */
  readonly exists?: (id: string, olds: Inputs & Outputs) => Promise<boolean>;
  /** Inputs whose change means another thing altogether. */
  readonly replaceOn?: readonly string[];
  /**
   * Asked before anything is done, by a preview too, and only when there are inputs that differ from those on record.
   * @param olds undefined before the first time
   * @param news what is not known before others are made is `undefined`
   * @returns what cannot be had, a sentence each
   */
  readonly check?: (olds: Inputs | undefined, news: Partial<Inputs>) => Promise<readonly string[]>;
}

/** Modules of handlers, seen from the program's directory, where the engine runs dynamic providers. */
export type HandlerModule =
  | "password"
  | "cluster-check"
  | "host-servers"
  | "scale-in"
  | "rollout"
  | "formation"
  | "topology-check"
  | "measurement"
  | "volume-deletion-wait";

const providers = new Map<HandlerModule, pulumi.dynamic.ResourceProvider>();

/** One provider for all resources of a kind: Pulumi takes its time to serialise one. @param name of the module in provider/handlers */
export function dynamicResource(name: HandlerModule): pulumi.dynamic.ResourceProvider {
  const provider = providers.get(name) ?? providerOf(name);
  providers.set(name, provider);
  return provider;
}

function providerOf(name: HandlerModule): pulumi.dynamic.ResourceProvider {
  type Values = Record<string, unknown>;
  type Loaded = ResourceHandler<Values, Values>;
  const load = (): Loaded => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- this runs inside the engine's own Node process
    const fromHere = (require("node:module") as { createRequire: typeof createRequire }).createRequire(
      `${process.cwd()}/`,
    );
    fromHere("tsx/cjs");
    return (fromHere(`../../provider/handlers/${name}.ts`) as { default: Loaded }).default;
  };
  const plain = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).filter(([key]) => key !== "__provider"));
  // The engine's values are JSON's: no undefined.
  const data = (values: Values): Values => JSON.parse(JSON.stringify(values)) as Values;
  // Keys come in any order from the state.
  const text = (value: unknown): string =>
    JSON.stringify(value, (_key, each: unknown) =>
      typeof each === "object" && each !== null && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    );
  const changed = (olds: Values, news: Values): string[] =>
    Object.keys(plain(news)).filter((key) => text(olds[key]) !== text(news[key]));
  return {
    check: async (olds: Values, news: Values) => {
      const { check } = load();
      if (check === undefined || changed(olds, news).length === 0) return { inputs: news };
      // As Pulumi writes what is not known yet.
      const known = Object.entries(plain(news)).filter(
        ([, value]) => !text(value).includes("04da6b54-80e4-46f7-96ec-b56ff0331ba9"),
      );
      const reasons = await check(
        Object.keys(plain(olds)).length === 0 ? undefined : plain(olds),
        Object.fromEntries(known),
      );
      return { inputs: news, failures: reasons.map((reason) => ({ property: "", reason })) };
    },
    create: async (inputs: Values) => {
      const own = plain(inputs);
      const { id, outputs } = await load().create(own);
      return { id, outs: data({ ...own, ...outputs }) };
    },
    update: async (id: string, olds: Values, news: Values) => {
      const handler = load();
      const own = plain(news);
      const outputs =
        handler.update === undefined ? (await handler.create(own)).outputs : await handler.update(id, plain(olds), own);
      return { outs: data({ ...own, ...outputs }) };
    },
    delete: async (id: string, olds: Values) => {
      await load().delete?.(id, plain(olds));
    },
    read: async (id: string, olds: Values) => {
      const there = (await load().exists?.(id, plain(olds))) ?? true;
      return { id: there ? id : "", props: olds };
    },
    // eslint-disable-next-line @typescript-eslint/require-await -- the engine wants a promise
    diff: async (_id: string, olds: Values, news: Values) => {
      const differing = changed(olds, news);
      const replaceOn = load().replaceOn ?? [];
      return {
        changes: differing.length > 0,
        replaces: differing.filter((key) => replaceOn.includes(key)),
        deleteBeforeReplace: true,
      };
    },
  };
}
