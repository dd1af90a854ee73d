import { type Problem, Failure, messageOf } from "../../lib/errors";
import { setTimeout as sleep } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import type * as provider from "@pulumi/pulumi/provider";
import { compact } from "../../lib/compact";
import { canonicalJson, engineValues, plainValues, type Values } from "../protocol/engine-values";
import { type AnyHandler, loadHandler, type ResourceName, resourceNameOf } from "./kinds";
import { takePackageVersion } from "./package-version";
import { type HandlerContext, ATTEMPTS, FailedButSeen } from "../protocol/resource-handler";
import { UpdateLeases } from "../changes/update-leases";

/** Time limit for a handler to finish by itself after the update was cancelled, milliseconds. */
const CANCEL_GRACE_MS = 5_000;

const logLine = (urn: string, line: string): void => {
  void pulumi.log.info(line, new pulumi.DependencyResource(urn));
};

/** One process serves all resources of an update. */
export class ValkeyProvider implements provider.Provider {
  readonly #cancelled = new AbortController();
  readonly #leases = new UpdateLeases((why) => {
    this.#cancelled.abort(why);
  });

  constructor(
    readonly version: string,
    private readonly load: (name: ResourceName) => Promise<AnyHandler> = loadHandler,
    private readonly log: (urn: string, line: string) => void = logLine,
  ) {}

  readonly check = async (urn: string, olds: Values, declared: Values): Promise<provider.CheckResult> => {
    const { inputs: news, problems } = takePackageVersion(declared, this.version);
    // A provider of a different version may have different resources.
    if (problems.length > 0) return { inputs: news, failures: failuresOf(problems) };
    const handler = await this.#handler(urn);
    const before = plainValues(olds).values;
    const { values } = plainValues(news);
    if (handler.check === undefined || changedInputs(before, values).length === 0) return { inputs: news };
    const isNew = Object.keys(before).length === 0;
    const failures = failuresOf(await handler.check(isNew ? undefined : before, values, this.#context(urn)));
    return { inputs: news, failures };
  };

  readonly diff = async (_id: string, urn: string, olds: Values, news: Values): Promise<provider.DiffResult> => {
    const handler = await this.#handler(urn);
    const { state, attempts } = takeAttempts(plainValues(olds).values);
    const { values } = plainValues(news);
    // The value of an input that is not known yet may change.
    const unknown = Object.keys(news).filter((key) => !(key in values));
    const silent = handler.silentInputs ?? [];
    const changed = [...changedInputs(state, values), ...unknown].filter((key) => !silent.includes(key));
    if (changed.length > 0) for (const line of handler.describeChange?.(state, values) ?? []) this.log(urn, line);
    const takesBack = attempts.length > 0 && changed.length === 0;
    if (takesBack)
      this.log(
        urn,
        "an earlier update failed, and the inputs have their former values again: this update undoes changes of the failed update",
      );
    return {
      changes: changed.length > 0 || takesBack || (handler.drifted?.(state) ?? false),
      replaces: changed.filter((key) => (handler.replaceOn ?? []).includes(key)),
      deleteBeforeReplace: true,
    };
  };

  readonly create = async (urn: string, inputs: Values): Promise<provider.CreateResult> => {
    const handler = await this.#handler(urn);
    const { values, secrets } = plainValues(inputs);
    const context = this.#context(urn);
    // A new deployment has no controller, so there is no Lease to hold.
    const work = this.#leases.hold(values, values, context).then(() => handler.create(values, context));
    const { id, outputs } = await this.#untilCancelled(work);
    return { id, outs: withSecrets(handler, { ...values, ...outputs }, secrets) };
  };

  readonly update = async (id: string, urn: string, olds: Values, news: Values): Promise<provider.UpdateResult> => {
    const handler = await this.#handler(urn);
    const { values, secrets } = plainValues(news);
    const before = plainValues(olds);
    const { state, attempts } = takeAttempts(before.values);
    const context = this.#context(urn);
    // The controller works by the former inputs until the update has replaced it.
    for (const inputs of [state, values]) await this.#leases.hold(inputs, values, context);
    const work =
      handler.update === undefined
        ? handler.create(values, context).then(({ outputs }) => outputs)
        : handler.update(id, state, values, context, attempts);
    try {
      return { outs: withSecrets(handler, { ...values, ...(await this.#untilCancelled(work)) }, secrets) };
    } catch (error) {
      if (handler.recordsAttempts !== true) throw error;
      const hidden = new Set(compact([...before.secrets, secrets.size > 0 ? ATTEMPTS : undefined]));
      const seen = error instanceof FailedButSeen ? error.outputs : {};
      const kept = { ...state, ...seen, [ATTEMPTS]: addAttempt(attempts, values) };
      throw new UpdateFailed(error, id, withSecrets(handler, kept, hidden));
    }
  };

  readonly delete = async (id: string, urn: string, properties: Values): Promise<void> => {
    const handler = await this.#handler(urn);
    const { state } = takeAttempts(plainValues(properties).values);
    if (handler.delete === undefined) return;
    const context = this.#context(urn);
    // The objects to delete may already be gone, and the Lease with them.
    await this.#leases.hold(state, undefined, context).catch(() => undefined);
    await this.#untilCancelled(handler.delete(id, state, context));
  };

  readonly read = async (id: string, urn: string, properties?: Values): Promise<provider.ReadResult> => {
    const handler = await this.#handler(urn);
    if (handler.read === undefined) return { id, props: properties };
    const { values, secrets } = plainValues(properties);
    const { state } = takeAttempts(values);
    const outputs = await this.#untilCancelled(handler.read(id, state, this.#context(urn)));
    if (outputs === undefined) return { id: "", props: {} };
    return { id, props: withSecrets(handler, { ...values, ...outputs }, secrets) };
  };

  /** Pulumi's engine calls this after Ctrl-C and for `pulumi cancel`. */
  readonly cancel = (): Promise<void> => {
    this.#cancelled.abort(new Failure("the update was cancelled"));
    return Promise.resolve();
  };

  async #handler(urn: string): Promise<AnyHandler> {
    return this.load(resourceNameOf(urn));
  }

  /** @throws the reason of the cancellation, if the update was cancelled before the work began */
  #context(urn: string): HandlerContext {
    this.#cancelled.signal.throwIfAborted();
    return {
      signal: this.#cancelled.signal,
      report: (line) => {
        this.log(urn, line);
      },
    };
  }

  /**
   * The provider abandons a handler that does not end in time after a cancellation; the next update continues.
   * @throws the error of the work, or the reason of the cancellation
   */
  async #untilCancelled<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#cancelled;
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
}

function withSecrets({ secretOutputs = [] }: AnyHandler, values: Values, secrets: ReadonlySet<string>): Values {
  return engineValues(values, new Set([...secrets, ...secretOutputs]));
}

function changedInputs(olds: Values, news: Values): string[] {
  return Object.keys(news).filter((key) => canonicalJson(olds[key]) !== canonicalJson(news[key]));
}

function failuresOf(problems: readonly Problem[]): provider.CheckFailure[] {
  return problems.map(({ path, message }) => ({ property: path, reason: message }));
}

/** Beside the last successful inputs, so that going back to them counts as a change, and undoes the attempts. */
function takeAttempts(values: Values): { readonly state: Values; readonly attempts: readonly Values[] } {
  const { [ATTEMPTS]: attempts = [], ...state } = values;
  return { state, attempts: attempts as readonly Values[] };
}

/** An earlier attempt with equal inputs is removed. */
function addAttempt(attempts: readonly Values[], inputs: Values): readonly Values[] {
  const added = canonicalJson(inputs);
  return [...attempts.filter((each) => canonicalJson(each) !== added), inputs];
}

/** Pulumi keeps the properties in the state. */
export class UpdateFailed extends Failure {
  readonly reasons: readonly string[];

  constructor(
    cause: unknown,
    readonly id: string,
    readonly properties: Values,
  ) {
    super(messageOf(cause), { cause });
    this.reasons = [messageOf(cause)];
  }
}
