/**
 * Sends each request at its intended time, and measures its latency from then, so a stall of the server counts for
 * every request intended during it. A closed loop would miss them (coordinated omission).
 */
import type { NodeAccess, Mode } from "../../../valkey/node";
import { Failure } from "../../../lib/errors";
import type { ReadFrom } from "../../workloads/mixed-workload";
import type { LoadNode } from "./connections/load-node";
import type { OperationSource } from "./requests/operations";
import { epochMs } from "../../../lib/clock";
import { Pacer } from "./pacer";
import type { Random } from "../../../lib/statistics/random";
import { errorPrefix, parseRedirect } from "../../../valkey/error-replies";
import { type RequestObserver, TimedRequest, type RequestOutcome } from "./requests/request";
import { Router } from "./connections/router";
import { type DiscoverRoutes, RouteRefresher } from "./connections/routes";
import type { ArrivalSchedule } from "./requests/request-times";
import { addCount, Tally } from "../tally";

interface OpenLoopGeneratorOptions {
  readonly mode: Mode;
  readonly access: NodeAccess;
  readonly discoverRoutes: DiscoverRoutes;
  readonly clients: number;
  /** Requests per arrival. Those for the same server are sent together. */
  readonly pipeline: number;
  readonly readFrom: ReadFrom;
  readonly timeoutMs: number;
  /** Further requests fail and are not sent. */
  readonly queue: number;
  readonly seconds: number;
  readonly schedule: ArrivalSchedule;
  readonly source: OperationSource;
  readonly random: Random;
}

const CONNECT_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 10;
/** Pattern of errors at the start that a retry cannot remove. */
const PERMANENT_ERROR = /^(WRONGPASS|NOAUTH|NOPERM|ERR) /;
const MAX_REDIRECTS = 16;
/** Delay before a request is sent again after TRYAGAIN, milliseconds. */
const TRY_AGAIN_MS = 2;
const STALE_ROUTE_ERRORS = new Set(["READONLY", "MASTERDOWN", "CLUSTERDOWN", "LOADING"]);

const ACKNOWLEDGED: RequestOutcome = { kind: "acknowledged" };

export class OpenLoopGenerator {
  readonly tally = new Tally();
  #router: Router | undefined;
  readonly #refresher: RouteRefresher;
  #unsettled = 0;
  #inFlight = 0;
  readonly #queuedNodes = new Set<LoadNode>();
  #pacer: Pacer | undefined;
  #endMs = Infinity;
  #checkAtMs = 0;
  #hasEnded = false;
  #endIfDone: (() => void) | undefined;

  constructor(
    private readonly options: OpenLoopGeneratorOptions,
    private readonly observer: RequestObserver = () => undefined,
  ) {
    this.#refresher = new RouteRefresher(options.discoverRoutes, (routes) => this.#router?.applyRoutes(routes));
  }

  /** @throws Failure with the names of the servers to which connections are missing; the signal's reason */
  async open(signal: AbortSignal): Promise<void> {
    const { options } = this;
    const router = new Router(
      options,
      await options.discoverRoutes(),
      {
        reply: (node, request, error) => {
          this.#reply(node, request, error);
        },
        disconnected: (_node, unanswered, reason) => {
          this.#disconnected(unanswered, reason);
        },
        sent: (request) => {
          this.#sent(request);
        },
      },
      options.random,
    );
    this.#router = router;
    const deadline = Date.now() + CONNECT_TIMEOUT_MS;
    while (router.nodes.some((node) => !node.isReady)) {
      signal.throwIfAborted();
      const rejecting = router.nodes.find(({ lastError }) => PERMANENT_ERROR.test(lastError ?? ""));
      if (rejecting !== undefined) throw new Failure(`${rejecting.name}: ${rejecting.lastError ?? ""}`);
      if (Date.now() > deadline) throw new Failure(missingConnections(router.nodes));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** @param startMs milliseconds since the epoch. After `signal`, those in flight are unknown */
  run(startMs: number, signal: AbortSignal): Promise<Tally> {
    const { schedule, seconds, pipeline } = this.options;
    const { tally } = this;
    tally.fromMs = startMs;
    this.#endMs = startMs + seconds * 1000;
    const pacer = (this.#pacer = new Pacer(startMs, {
      nextMs: () => schedule.nextMs(),
      endMs: seconds * 1000,
      onArrival: (intendedMs, nowMs) => {
        tally.lag.record((nowMs - intendedMs) * 1000);
        for (let i = 0; i < pipeline; i++) this.#offer(intendedMs);
      },
      afterArrivals: () => {
        this.#sendQueued();
      },
      onTurn: (nowMs) => {
        this.#checkTimeouts(nowMs);
      },
      isAwaitingReplies: () => this.#unsettled > 0,
    }));
    return new Promise((resolve) => {
      const end = (): void => {
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        signal.removeEventListener("abort", end);
        pacer.stop();
        tally.busySeconds = pacer.busySeconds;
        this.#close();
        tally.toMs = Math.max(tally.toMs, Math.min(this.#endMs, epochMs()));
        resolve(tally);
      };
      this.#endIfDone = () => {
        if (pacer.isDone && this.#unsettled === 0) end();
      };
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
      else pacer.start(() => this.#endIfDone?.());
    });
  }

  close(): void {
    this.#close();
  }

  #close(): void {
    const router = this.#router;
    this.#refresher.stop();
    for (const node of router?.nodes ?? []) {
      this.tally.reconnects += node.reconnects;
      for (const request of node.takeQueued()) this.#settle(request, { kind: "failed", error: "stopped" });
    }
    router?.close();
  }

  #offer(intendedMs: number): void {
    const { tally } = this;
    const request = new TimedRequest(this.options.source.next(), intendedMs);
    tally.offered++;
    this.#unsettled++;
    if (this.#unsettled > tally.mostInFlight) tally.mostInFlight = this.#unsettled;
    // A batch is queued as a whole before it is sent, so the queue may exceed its limit by one batch.
    if (this.#unsettled - this.#inFlight > this.options.queue + this.options.pipeline)
      this.#settle(request, { kind: "failed", error: "queue-full" });
    else this.#dispatch(request);
  }

  #dispatch(request: TimedRequest, to = this.#router?.route(request)): void {
    if (to === undefined) this.#settle(request, { kind: "failed", error: "no-server" });
    else {
      to.enqueue(request);
      this.#queuedNodes.add(to);
    }
  }

  #sendQueued(): void {
    for (const node of this.#queuedNodes) node.sendQueued();
    this.#queuedNodes.clear();
  }

  #sent(request: TimedRequest): void {
    this.#inFlight++;
    if (Number.isNaN(request.sentMs)) this.tally.sent++;
    request.sentMs = epochMs();
  }

  #reply(node: LoadNode, request: TimedRequest, error: string | undefined): void {
    this.#inFlight--;
    this.#pacer?.markBusy();
    if (error === undefined) this.#settle(request, ACKNOWLEDGED);
    else if (!this.#followRedirect(node, request, error)) {
      const kind = errorPrefix(error);
      if (STALE_ROUTE_ERRORS.has(kind)) this.#refresher.requestRefresh();
      this.#settle(request, { kind: "failed", error: kind });
    }
  }

  #followRedirect(node: LoadNode, request: TimedRequest, error: string): boolean {
    const redirect = parseRedirect(error, node.endpoint);
    // Servers send REDIRECT only to clients that asked for it with CLIENT CAPA.
    if (redirect === undefined || redirect.kind === "REDIRECT") return false;
    addCount(this.tally.redirects, redirect.kind);
    if (++request.redirects > MAX_REDIRECTS) {
      this.#settle(request, { kind: "failed", error: "redirects" });
      return true;
    }
    if (redirect.kind === "TRYAGAIN") {
      setTimeout(() => {
        this.#resend(request);
      }, TRY_AGAIN_MS);
      return true;
    }
    request.isAsking = redirect.kind === "ASK";
    if (redirect.kind === "MOVED") {
      this.#refresher.requestRefresh();
      this.#resend(request, this.#router?.setSlotOwner(redirect.slot, redirect.endpoint));
    } else this.#resend(request, this.#router?.nodeAt(redirect.endpoint));
    return true;
  }

  #resend(request: TimedRequest, to?: LoadNode): void {
    if (this.#hasEnded) this.#settle(request, { kind: "failed", error: "stopped" });
    else {
      this.#dispatch(request, to ?? this.#router?.route(request));
      this.#sendQueued();
    }
  }

  #disconnected(unanswered: readonly TimedRequest[], reason: string): void {
    this.#pacer?.markBusy();
    if (!this.#hasEnded) this.#refresher.requestRefresh();
    const deadlineMs = epochMs() - this.options.timeoutMs;
    for (const request of unanswered) {
      this.#inFlight--;
      const isLate = request.intendedMs < deadlineMs;
      const error = reason === "stopped" ? "stopped" : isLate ? "timeout" : "disconnected";
      this.#settle(request, { kind: "unknown", error });
    }
  }

  #checkTimeouts(nowMs: number): void {
    if (nowMs < this.#checkAtMs) return;
    this.#checkAtMs = nowMs + TIMEOUT_CHECK_MS;
    const deadlineMs = nowMs - this.options.timeoutMs;
    for (const node of this.#router?.nodes ?? []) {
      for (const request of node.takeQueuedBefore(deadlineMs))
        this.#settle(request, { kind: "failed", error: "unavailable" });
      node.closeTimedOut(deadlineMs);
    }
  }

  #settle(request: TimedRequest, outcome: RequestOutcome): void {
    const { tally } = this;
    const doneMs = (request.doneMs = epochMs());
    this.#unsettled--;
    if (outcome.kind === "acknowledged") {
      tally.acknowledged++;
      if (doneMs <= this.#endMs) tally.acknowledgedInTime++;
      tally[request.operation.kind === "read" ? "reads" : "writes"].record((doneMs - request.intendedMs) * 1000);
    } else addCount(tally[outcome.kind], outcome.error);
    if (doneMs > tally.toMs) tally.toMs = doneMs;
    this.observer(request, outcome);
    if (this.#unsettled === 0) this.#endIfDone?.();
  }
}

function missingConnections(nodes: readonly LoadNode[]): string {
  const missing = nodes.filter(({ isReady }) => !isReady);
  return missing
    .map(({ name, readyConnections, lastError = "no reply" }) => {
      return `${name}: only ${readyConnections} connections were opened within ${CONNECT_TIMEOUT_MS / 1000} s (${lastError})`;
    })
    .join("; ");
}
