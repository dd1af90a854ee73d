/** Transforms under mocks, which run none and refuse resources that have some: they are accepted, and not run. */
import { createRequire } from "node:module";
import { Callback } from "@pulumi/pulumi/proto/callback_pb";
import type { ICallbackServer } from "@pulumi/pulumi/runtime/callbacks";
import * as state from "@pulumi/pulumi/runtime/state";

// The SDK keeps the stack of each promise, to name those that leak, which takes a third of a program's time.
Object.assign(createRequire(__filename)("@pulumi/pulumi/runtime/debuggable") as object, {
  debuggablePromise: <T>(made: T): T => made,
});

/** The part of the SDK's state that says what an engine can do; its types leave it out. */
interface Store {
  supportsTransforms: boolean;
  callbacks?: ICallbackServer;
}

/** Call it after `setMocks`, which resets it. */
export function acceptTransforms(): void {
  const store = (state as unknown as { getStore: () => Store }).getStore();
  store.supportsTransforms = true;
  const none = (): Promise<void> => Promise.resolve();
  store.callbacks = {
    registerTransform: () => Promise.resolve(new Callback()),
    registerStackTransform: () => undefined,
    registerStackInvokeTransform: () => undefined,
    registerStackInvokeTransformAsync: () => Promise.resolve(new Callback()),
    registerResourceHook: none,
    registerErrorHook: none,
    awaitStackRegistrations: none,
    shutdown: () => undefined,
  };
}
