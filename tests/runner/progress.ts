/** Says what runs and how much is left, in a line now and then, and each failure when it happens. */
import type { Reporter, TestModule } from "vitest/node";
import { print } from "../../cli/terminal/terminal";
import { failureText } from "./closing-lines";
import { recordsOf } from "./outcome";

/** Between two lines. */
const INTERVAL_MS = 15_000;

export class Progress implements Reporter {
  readonly #began = Date.now();
  readonly #running = new Map<string, number>();
  readonly #timer = setInterval(() => {
    this.#line();
  }, INTERVAL_MS);
  #left = 0;
  #passed = 0;
  #failed = 0;

  /** So many more files will run. */
  expect(files: number): void {
    this.#left += files;
  }

  /** Something runs that is not a test file. */
  async beside<T>(name: string, work: Promise<T>): Promise<T> {
    this.#running.set(name, Date.now());
    try {
      return await work;
    } finally {
      this.#running.delete(name);
    }
  }

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#running.set(relativeModuleId, Date.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.relativeModuleId);
    this.#left--;
    const records = recordsOf(module);
    this.#passed += records.filter(({ state }) => state === "passed").length;
    const failed = records.filter(({ state }) => state === "failed");
    this.#failed += failed.length;
    for (const record of failed) print(`${this.#clock()} ✗ ${failureText(record).join("\n")}`);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #line(): void {
    const running = [...this.#running]
      .sort(([, a], [, b]) => a - b)
      .map(
        ([name, since]) => `${name.replace(/^tests\/|\.test\.ts$/g, "")} ${Math.round((Date.now() - since) / 1000)} s`,
      );
    print(
      `${this.#clock()} ${this.#passed} passed, ${this.#failed} failed, ${this.#left} files left; running: ${running.join(", ") || "nothing yet"}`,
    );
  }

  #clock(): string {
    const seconds = Math.round((Date.now() - this.#began) / 1000);
    return `[${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}]`;
  }
}
