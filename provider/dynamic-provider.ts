/** A handler as the provider that Pulumi's engine calls. Runs in the engine's process for dynamic providers. */
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import type { dynamic } from "@pulumi/pulumi";
import type { ReportProgress } from "../lib/progress";
import { cancellationSignal } from "./cancellation";
import type { HandlerContext, HandlerName, ResourceHandler } from "./resource-handler";

type Values = Record<string, unknown>;
type Handler = ResourceHandler<Values, Values>;

/** Property in which Pulumi keeps the provider's code. */
const CODE = "__provider";
/** What Pulumi writes in place of a value that no resource has produced yet. */
const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
/** Milliseconds that a handler has to end by itself after the update was cancelled. */
const CANCEL_GRACE_MS = 5_000;

/** @param name of the module in `provider/handlers` */
export function dynamicProvider(name: HandlerName): dynamic.ResourceProvider {
  const { default: handler } = createRequire(__filename)(`./handlers/${name}`) as { readonly default: Handler };
  return providerOf(handler, { signal: cancellationSignal(), report: printLine });
}

/** The handler's functions under the names and with the values of Pulumi's dynamic providers. */
export function providerOf(handler: Handler, context: HandlerContext): dynamic.ResourceProvider {
  return {
    check: async (olds: Values, news: Values) => {
      if (handler.check === undefined || changedInputs(olds, news).length === 0) return { inputs: news };
      const before = withoutCode(olds);
      const known = Object.entries(withoutCode(news)).filter(([, value]) => !canonicalJson(value).includes(UNKNOWN));
      const isNew = Object.keys(before).length === 0;
      const reasons = await handler.check(isNew ? undefined : before, Object.fromEntries(known));
      return { inputs: news, failures: reasons.map((reason) => ({ property: "", reason })) };
    },
    create: async (news: Values) => {
      const inputs = withoutCode(news);
      const { id, outputs } = await untilCancelled(handler.create(inputs, context), context.signal);
      return { id, outs: asJson({ ...inputs, ...outputs }) };
    },
    update: async (id: string, olds: Values, news: Values) => {
      const inputs = withoutCode(news);
      const work =
        handler.update === undefined
          ? handler.create(inputs, context).then(({ outputs }) => outputs)
          : handler.update(id, withoutCode(olds), inputs, context);
      return { outs: asJson({ ...inputs, ...(await untilCancelled(work, context.signal)) }) };
    },
    delete: async (id: string, olds: Values) => {
      const work = handler.delete?.(id, withoutCode(olds), context);
      if (work !== undefined) await untilCancelled(work, context.signal);
    },
    read: async (id: string, olds: Values) => {
      const exists = (await handler.exists?.(id, withoutCode(olds))) ?? true;
      return { id: exists ? id : "", props: olds };
    },
    diff: (_id: string, olds: Values, news: Values) => {
      const changed = changedInputs(olds, news);
      const replaces = changed.filter((key) => (handler.replaceOn ?? []).includes(key));
      return Promise.resolve({ changes: changed.length > 0, replaces, deleteBeforeReplace: true });
    },
  };
}

/** The engine shows what a provider process prints, below the resources that are under way. */
const printLine: ReportProgress = (line) => {
  process.stdout.write(`${line}\n`);
};

function withoutCode(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([key]) => key !== CODE));
}

/** The engine's values are JSON values, which have no undefined. */
function asJson(values: Values): Values {
  return JSON.parse(JSON.stringify(values)) as Values;
}

/** JSON with sorted keys: the state keeps no order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function changedInputs(olds: Values, news: Values): string[] {
  return Object.keys(withoutCode(news)).filter((key) => canonicalJson(olds[key]) !== canonicalJson(news[key]));
}

/**
 * The work's result. A handler that goes on after the update was cancelled is left to itself; the next update takes up
 * what it leaves.
 * @throws what the work throws, or the signal's reason
 */
async function untilCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const cancelled = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => {
      void sleep(CANCEL_GRACE_MS, undefined, { signal: done.signal }).then(
        () => {
          reject(signal.reason as Error);
        },
        () => undefined,
      );
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true, signal: done.signal });
  });
  try {
    return await Promise.race([work, cancelled]);
  } finally {
    done.abort();
  }
}
