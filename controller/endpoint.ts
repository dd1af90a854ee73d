/**
 * The HTTP endpoint of the controller and of the command `watch`: metrics for Prometheus, and the last verification of
 * each deployment as JSON. The probes of the controller's pod request the metrics, so they pass even if a verification
 * fails.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "node:http";
import { Failure, messageOf } from "../lib/errors";
import type { Endpoint } from "../valkey/node";
import { formatEndpoint } from "../valkey/node";
import type { Look } from "./look";
import type { RepairOutcome } from "./metrics";
import { LookMetrics } from "./metrics";

/** Path of the metrics. */
export const METRICS_PATH = "/metrics";
/** Path of a JSON list with the last verification of each deployment. */
export const LOOKS_PATH = "/looks";

export class LookEndpoint {
  readonly #metrics = new LookMetrics();
  readonly #looks = new Map<string, Look>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request.url ?? "").then(
        ({ status, type, text }) => response.writeHead(status, { "content-type": type }).end(text),
        () => response.writeHead(500).end(),
      );
    });
  }

  /**
   * Starts to listen. @param at address to listen at; without a host, every address of the machine. @throws Failure
   * when the address cannot be used
   */
  static async open(at: Pick<Endpoint, "port"> & Partial<Endpoint>): Promise<LookEndpoint> {
    const endpoint = new LookEndpoint();
    try {
      endpoint.#server.listen(at);
      await once(endpoint.#server, "listening");
    } catch (error) {
      const { host, port } = at;
      const where = host === undefined ? `port ${port}` : formatEndpoint({ host, port });
      throw new Failure(`cannot listen on ${where}: ${messageOf(error)}`);
    }
    return endpoint;
  }

  /**
   * Stores the result of a verification, and updates the metrics.
   * @param former the previous result; undefined for the first one
   */
  record(look: Look, former: Look | undefined): void {
    this.#looks.set(look.deployment, look);
    this.#metrics.record(look, former);
  }

  /** @param end earliest expiry of the servers' certificates, milliseconds since 1970 */
  recordCertificateEnd(deployment: string, end: number): void {
    this.#metrics.recordCertificateEnd(deployment, end);
  }

  recordRepair(deployment: string, outcome: RepairOutcome): void {
    this.#metrics.recordRepair(deployment, outcome);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(path: string): Promise<{ readonly status: number; readonly type: string; readonly text: string }> {
    if (path === METRICS_PATH)
      return { status: 200, type: this.#metrics.contentType, text: await this.#metrics.text() };
    if (path === LOOKS_PATH)
      return { status: 200, type: "application/json", text: JSON.stringify([...this.#looks.values()]) };
    return { status: 404, type: "text/plain", text: `not found; available paths: ${METRICS_PATH}, ${LOOKS_PATH}\n` };
  }
}
