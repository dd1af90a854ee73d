/**
 * The engine's request to cancel an update (Ctrl-C, `pulumi cancel`), as an AbortSignal.
 *
 * The engine calls `Cancel` of every provider process. Pulumi's process for dynamic providers answers that call and
 * does nothing else, so the call is observed where grpc-js looks up its handler. Where a later grpc-js has no such
 * method, an update ends at its time limit, as it does with Pulumi alone.
 */
import { createRequire } from "node:module";
import { Failure } from "../lib/errors";

const CANCEL = "/pulumirpc.ResourceProvider/Cancel";
const LOOKUP = "_retrieveHandler";

type Lookup = (this: unknown, path: string) => unknown;

let cancelled: AbortSignal | undefined;

/** @returns one signal per process; its reason is a Failure */
export function cancellationSignal(): AbortSignal {
  cancelled ??= observeCancel();
  return cancelled;
}

function observeCancel(): AbortSignal {
  const controller = new AbortController();
  // The copy that the provider process itself uses.
  const requireAsPulumi = createRequire(require.resolve("@pulumi/pulumi"));
  const { Server } = requireAsPulumi("@grpc/grpc-js") as {
    readonly Server: { readonly prototype: Record<string, unknown> };
  };
  const lookup = Server.prototype[LOOKUP] as Lookup | undefined;
  if (typeof lookup === "function") {
    Server.prototype[LOOKUP] = function (this: unknown, path: string): unknown {
      if (path === CANCEL) controller.abort(new Failure("the update was cancelled"));
      return lookup.call(this, path);
    };
  }
  return controller.signal;
}
