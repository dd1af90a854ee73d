import type { Operation } from "./operations";

/** Times are in milliseconds since the epoch, with fractions. */
export class TimedRequest<O extends Operation = Operation> {
  sentMs = NaN;
  doneMs = NaN;
  redirects = 0;
  /** Whether ASKING must precede the request when the request is sent next. */
  isAsking = false;

  constructor(
    readonly operation: O,
    readonly intendedMs: number,
  ) {}
}

/** Called once for each request. It must return quickly, because it delays the next requests. */
export type RequestObserver<O extends Operation = Operation> = (
  request: TimedRequest<O>,
  outcome: RequestOutcome,
) => void;

export type RequestOutcome =
  | { readonly kind: "acknowledged" }
  /** Refused or never sent, so the server certainly did not execute it. */
  | { readonly kind: "failed"; readonly error: string }
  /** Sent without a reply: it is unknown whether the server executed it. */
  | { readonly kind: "unknown"; readonly error: string };
