/** The probes of the controller's pod request the metrics, so they pass even if a verification fails. */
import { METRICS_PATH, TextServer } from "../../lib/pod/text-server";
import type { Endpoint } from "../../valkey/node";
import type { Look } from "./look";
import { LookMetrics } from "./metrics";

/** Path of a JSON list with the last verification of each deployment. */
export const LOOKS_PATH = "/looks";

export class LookEndpoint {
  readonly metrics = new LookMetrics();
  readonly #looks = new Map<string, Look>();
  #server: TextServer | undefined;

  /** @param at without a host, every address of the machine. @throws Failure when the address cannot be used */
  static async open(at: Pick<Endpoint, "port"> & Partial<Endpoint>): Promise<LookEndpoint> {
    const endpoint = new LookEndpoint();
    endpoint.#server = await TextServer.open(at, {
      [METRICS_PATH]: async () => ({
        type: endpoint.metrics.contentType,
        text: await endpoint.metrics.text(),
      }),
      [LOOKS_PATH]: () => ({ type: "application/json", text: JSON.stringify([...endpoint.#looks.values()]) }),
    });
    return endpoint;
  }

  /** @param former the previous result; undefined for the first one */
  record(look: Look, former: Look | undefined): void {
    this.#looks.set(look.deployment, look);
    this.metrics.record(look, former);
  }

  close(): void {
    this.#server?.close();
  }
}
