/** Clients that write and read numbered keys for as long as something else goes on, and keep the books. */
import { setTimeout as sleep } from "node:timers/promises";
import { Cluster } from "ioredis";
import { expect } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { messageOf } from "../../../lib/errors";
import { slotTags } from "../../../valkey/topology/slot-tags";

export class Clients {
  readonly #cluster: Cluster;
  readonly #acknowledged = new Map<string, number>();
  readonly #workers: Promise<void>[];
  readonly errors: string[] = [];
  operations = 0;
  #stopped = false;

  constructor({ nodes, access }: Deployment, workers = 4) {
    this.#cluster = new Cluster(
      nodes.map(({ endpoint }) => endpoint),
      { redisOptions: { password: access.password ?? "" } },
    );
    this.#cluster.on("error", () => undefined);
    this.#workers = Array.from({ length: workers }, (_, worker) => this.#work(worker));
  }

  /** Stops, and reads every key that a write was acknowledged for. @returns what is not as it was written last */
  async stop(): Promise<string[]> {
    this.#stopped = true;
    await Promise.all(this.#workers);
    const wrong: string[] = [];
    const all = [...this.#acknowledged];
    for (let start = 0; start < all.length; start += 200) {
      const some = all.slice(start, start + 200);
      const values = await Promise.all(some.map(([key]) => this.#cluster.get(key)));
      for (const [index, [key, value]] of some.entries())
        if (values[index] !== String(value)) wrong.push(`${key}: ${values[index] ?? "gone"} in place of ${value}`);
    }
    this.#cluster.disconnect();
    return wrong;
  }

  /** Stops. No command may have failed, and no acknowledged write may be lost. */
  async expectNothingLost(): Promise<void> {
    expect({ wrong: await this.stop(), errors: this.errors }).toEqual({ wrong: [], errors: [] });
  }

  get(key: string): Promise<string | null> {
    return this.#cluster.get(key);
  }

  async fill(keys: number, bytes: number): Promise<void> {
    const value = "x".repeat(bytes);
    const tags = slotTags();
    for (let number = 0; number < keys; number++)
      await this.#cluster.set(`{${tags[Math.floor((number * tags.length) / keys)] ?? ""}}`, value);
  }

  get keys(): number {
    return this.#acknowledged.size;
  }

  async #work(worker: number): Promise<void> {
    for (let number = 0; !this.#stopped; number++) {
      // Three in four keys are new, so that slots that move keep getting keys.
      const key = `w${worker}:${number % 4 === 0 ? number % 100 : number}`;
      const earlier = `w${worker}:${Math.floor(Math.random() * (number + 1))}`;
      try {
        await this.#cluster.set(key, number);
        this.#acknowledged.set(key, number);
        const expected = this.#acknowledged.get(earlier);
        const found = await this.#cluster.get(earlier);
        if (expected !== undefined && found !== String(expected))
          this.errors.push(`${earlier} reads ${found ?? "nothing"} in place of ${expected}`);
        this.operations += 2;
      } catch (error) {
        this.errors.push(messageOf(error));
      }
      await sleep(1);
    }
  }
}
