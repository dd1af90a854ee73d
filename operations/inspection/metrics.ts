import { Counter, Gauge, Registry } from "prom-client";
import { failoversBetween, type Look } from "./look";

/** The result is `unneeded` if nothing had to be changed any more. */
export type RepairOutcome = "done" | "unneeded" | "failed";

export class LookMetrics {
  readonly #registry = new Registry();
  readonly #verified = this.#gauge(
    "valkey_verified",
    "1 if all assertions about the deployment hold, else 0",
    "deployment",
  );
  readonly #holds = this.#gauge(
    "valkey_assertion_holds",
    "1 if the assertion holds, 0 if it does not; absent if the verification did not check it",
    "deployment",
    "assertion",
  );
  readonly #at = this.#gauge(
    "valkey_last_look_timestamp_seconds",
    "Time of the last verification, seconds since 1970",
    "deployment",
  );
  readonly #duration = this.#gauge("valkey_look_duration_seconds", "Duration of the last verification", "deployment");
  readonly #certificate = this.#gauge(
    "valkey_certificate_expires_timestamp_seconds",
    "Time at which the first of the servers' certificates expires, seconds since 1970",
    "deployment",
  );
  readonly #failovers = new Counter({
    name: "valkey_failovers_total",
    help: "Changes of a shard's primary between two verifications",
    labelNames: ["deployment"],
    registers: [this.#registry],
  });

  readonly #repairs = new Counter({
    name: "valkey_repairs_total",
    help: "Repairs; outcome is done, unneeded (nothing had to change) or failed",
    labelNames: ["deployment", "outcome"],
    registers: [this.#registry],
  });

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** @param former the previous result; undefined for the first one */
  record(look: Look, former: Look | undefined): void {
    const { deployment, pass, assertions, at, seconds } = look;
    this.#verified.set({ deployment }, Number(pass));
    for (const { id } of former?.assertions ?? []) this.#holds.remove({ deployment, assertion: id });
    for (const { id, holds } of assertions) this.#holds.set({ deployment, assertion: id }, Number(holds));
    this.#at.set({ deployment }, Date.parse(at) / 1000);
    this.#duration.set({ deployment }, seconds);
    this.#failovers.inc({ deployment }, failoversBetween(former, look).length);
  }

  /** @param end expiry, milliseconds since 1970 */
  recordCertificateEnd(deployment: string, end: number): void {
    this.#certificate.set({ deployment }, end / 1000);
  }

  recordRepair(deployment: string, outcome: RepairOutcome): void {
    this.#repairs.inc({ deployment, outcome });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #gauge<const L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
