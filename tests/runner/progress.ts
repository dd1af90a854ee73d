/**
 * Says what runs and how much is left, in a line now and then, and each failure when it happens. Repeats the names of
 * what failed often enough that the end of a log that was cut off has them.
 */
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { print } from "../../cli/terminal/terminal";
import { failedSoFar, failureText } from "./closing-lines";
import { type FileTime, type Outcome, type TestRecord, afterSecondTry, recordOf, recordsOf, timeOf } from "./outcome";
import { Waits } from "./waits";

/** Between two lines. */
const INTERVAL_MS = 15_000;
/** Lines after which the names of failed tests are repeated. */
const REPEAT_AFTER = 40;

interface Running {
  readonly group: string;
  readonly since: number;
  /** Tests that ended. */
  readonly ended: TestRecord[];
}

export class Progress implements Reporter {
  readonly #began = Date.now();
  readonly #running = new Map<string, Running>();
  readonly #records = new Map<string, readonly TestRecord[]>();
  readonly #times: FileTime[] = [];
  readonly #timer = setInterval(() => {
    this.#line();
  }, INTERVAL_MS);
  #left = 0;
  #linesSinceRepeated = 0;
  /** A pattern or a signal leaves tests out, which are not skipped for want of something. */
  isPartial = false;
  readonly waits = new Waits(this.#running);

  /** So many more files will run. */
  expect(files: number): void {
    this.#left += files;
  }

  /** Something runs that is not a test file. */
  async beside(name: string, work: Promise<Outcome>): Promise<void> {
    this.#running.set(name, { group: name, since: Date.now(), ended: [] });
    const { records, times } = await work;
    this.#running.delete(name);
    this.#times.push(...times);
    this.add(name, records);
  }

  add(file: string, records: readonly TestRecord[]): void {
    this.#records.set(file, [...(this.#records.get(file) ?? []), ...records]);
    this.#tellFailures(records);
  }

  /** Records of the tests that have ended, also in files that still run. */
  soFar(): Outcome {
    const ended = [...this.#running.values()].flatMap((file) => file.ended);
    const records = [...[...this.#records.values()].flat(), ...ended];
    const isLeftOut = ({ state, message }: TestRecord): boolean => state === "skipped" && message === undefined;
    return { records: this.isPartial ? records.filter((each) => !isLeftOut(each)) : records, times: this.#times };
  }

  onTestModuleQueued({ relativeModuleId: file, project }: TestModule): void {
    this.#running.set(file, { group: project.name, since: Date.now(), ended: [] });
  }

  onTestCaseResult(test: TestCase): void {
    const file = test.module.relativeModuleId;
    const records = recordOf(file, test);
    this.#running.get(file)?.ended.push(...records);
    this.#tellFailures(records);
  }

  onTestModuleEnd(module: TestModule): void {
    const file = module.relativeModuleId;
    const told = new Set(this.#running.get(file)?.ended.map(({ title }) => title));
    const records = recordsOf(module);
    const before = this.#records.get(file);
    this.#running.delete(file);
    this.#left--;
    this.#records.set(file, before === undefined ? records : afterSecondTry(before, records));
    if (before === undefined) this.#times.push(timeOf(module));
    this.#tellFailures(records.filter(({ title }) => !told.has(title)));
  }

  /** Files of this run that did not say that they ended, because their process is gone. */
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) if (this.#running.has(module.relativeModuleId)) this.onTestModuleEnd(module);
  }

  interrupt(): void {
    this.isPartial = true;
    const message = `was interrupted while these ran: ${[...this.#running.keys()].join(", ")}`;
    this.#records.set("the run", [{ file: "the run", title: "", state: "failed", message }]);
    this.#repeat();
  }

  #repeat(): void {
    this.#linesSinceRepeated = 0;
    print(...failedSoFar(this.soFar().records));
  }

  close(): void {
    clearInterval(this.#timer);
    this.waits.close();
  }

  #tellFailures(records: readonly TestRecord[]): void {
    for (const record of records)
      if (record.state === "failed") this.#print(`${this.#clock()} ✗ ${failureText(record).join("\n")}`);
  }

  #line(): void {
    const running = [...this.#running]
      .sort(([, a], [, b]) => a.since - b.since)
      .map(
        ([name, { since }]) =>
          `${name.replace(/^tests\/|\.test\.ts$/g, "")} ${Math.round((Date.now() - since) / 1000)} s`,
      );
    const { records } = this.soFar();
    const count = (state: TestRecord["state"]): number => records.filter((each) => each.state === state).length;
    this.#print(
      `${this.#clock()} ${count("passed")} passed, ${count("failed")} failed, ${this.#left} files left; running: ${running.join(", ") || "nothing yet"}`,
    );
  }

  #print(text: string): void {
    for (const line of text.split("\n")) {
      print(line);
      if (++this.#linesSinceRepeated >= REPEAT_AFTER) this.#repeat();
    }
  }

  #clock(): string {
    const seconds = Math.round((Date.now() - this.#began) / 1000);
    return `[${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}]`;
  }
}
