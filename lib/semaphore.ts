/** Many things to do, so many at once. */

/** Hands out turns; who finds none free waits in line. */
export class Semaphore {
  #free: number;
  readonly #line: (() => void)[] = [];

  /** @param atOnce how many may be taken at the same time */
  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      // The turn goes to the next in line without becoming free in between.
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
