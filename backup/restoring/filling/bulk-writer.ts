/** Writes many archived keys to the primaries of a running deployment, fast and without reading them back. */
import { epochMs } from "../../../lib/clock";
import { Failure, messageOf } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import type { Deployment } from "../../../valkey/deployment";
import type { CopiedKey, NamedKey } from "../key-reader";
import { keyRefusal } from "../key-refusal";
import { RestorePipe } from "./restore-pipe";
import { type Owner, ownersOf } from "../slot-owners";

/** Time for which writes are tried again without any success, for example while a slot has no primary, milliseconds. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;

/** A key that exists is kept. The bytes in flight to each primary are limited. Callers may write at once. */
export class BulkWriter {
  #pipeOf: (RestorePipe | undefined)[][] = [];
  #pipes = new Map<string, Promise<RestorePipe>>();
  #owners: Promise<readonly (Owner | undefined)[]> | undefined;
  #returned: CopiedKey[] = [];
  #why = "";
  #failure: Failure | undefined;
  #resending: Promise<void> | undefined;
  #isDisturbed = false;
  #written = 0;
  #kept = 0;
  #expired = 0;
  readonly #onAbort = (): void => {
    this.close();
  };

  constructor(
    private readonly target: Deployment,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get written(): number {
    return this.#written;
  }

  get kept(): number {
    return this.#kept;
  }

  get expired(): number {
    return this.#expired;
  }

  /** A connection was lost, or a key was not accepted at once: a replaced primary may have lost acknowledged keys. */
  get isDisturbed(): boolean {
    return this.#isDisturbed;
  }

  /** @throws Failure if a server refuses a key, or if nothing succeeds for a minute; the signal's reason */
  async write(keys: readonly CopiedKey[]): Promise<void> {
    for (const key of keys) while (!this.#place(key)) if (await this.#prepare(key)) break;
    for (const pipe of await this.#opened()) pipe.flush();
  }

  async finish(): Promise<void> {
    await this.#settle();
    while (this.#returned.length > 0) await this.#resend();
    this.#check();
  }

  close(): void {
    this.signal.removeEventListener("abort", this.#onAbort);
    this.#forget();
  }

  /** @returns whether the key needs nothing further */
  #place(key: CopiedKey): boolean {
    if (this.#returned.length > 0 || this.#failure !== undefined || this.signal.aborted) return false;
    return this.#send(key);
  }

  #send(key: CopiedKey): boolean {
    if ((key.expiresAt ?? Infinity) <= epochMs()) {
      this.#expired++;
      return true;
    }
    const pipe = this.#pipeOf[key.database]?.[key.slot];
    if (pipe?.isOpen !== true || !pipe.hasRoom) return false;
    pipe.send(key);
    return true;
  }

  /** @returns whether the key was sent meanwhile */
  async #prepare(key: CopiedKey): Promise<boolean> {
    this.#check();
    if (this.#returned.length > 0) {
      await this.#resend();
      return false;
    }
    const reason = await this.#makeRoom(key);
    if (reason === undefined) return false;
    this.#returned.push(key);
    this.#note(reason);
    await this.#resend();
    return true;
  }

  /** @returns the reason why it cannot be opened */
  async #makeRoom(key: CopiedKey): Promise<string | undefined> {
    try {
      const pipe = this.#pipeOf[key.database]?.[key.slot];
      if (pipe?.isOpen === true) await pipe.room();
      else await this.#connect(key);
      return undefined;
    } catch (error) {
      this.signal.throwIfAborted();
      return messageOf(error);
    }
  }

  #check(): void {
    this.signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #note(reason: string): void {
    this.#why = reason;
    this.#isDisturbed = true;
  }

  async #resend(): Promise<void> {
    this.#resending ??= this.#tryAgain().finally(() => (this.#resending = undefined));
    return this.#resending;
  }

  async #tryAgain(): Promise<void> {
    let [last, since] = [this.#written + this.#kept, performance.now()];
    do {
      await this.#settle();
      this.#check();
      const done = this.#written + this.#kept;
      if (done > last) [last, since] = [done, performance.now()];
      else if (performance.now() - since > PATIENCE_MS)
        throw new Failure(`${this.target.name} does not take keys: ${this.#why}`);
      this.#forget();
      await pause(PAUSE_MS, this.signal);
      const keys = this.#returned;
      this.#returned = [];
      for (const [index, key] of keys.entries()) {
        if (await this.#sendAgain(key)) continue;
        this.#returned.push(...keys.slice(index));
        break;
      }
      await this.#settle();
    } while (this.#returned.length > 0);
  }

  async #sendAgain(key: CopiedKey): Promise<boolean> {
    while (!this.#send(key)) {
      this.#check();
      const reason = await this.#makeRoom(key);
      if (reason === undefined) continue;
      this.#note(reason);
      return false;
    }
    return true;
  }

  async #connect({ slot, database }: NamedKey & Pick<CopiedKey, "slot">): Promise<void> {
    const pipes = this.#pipes;
    const owners = await (this.#owners ??= ownersOf(this.target));
    if (pipes !== this.#pipes) return;
    const node = owners[slot]?.node;
    if (node === undefined) throw new Failure(`no primary has slot ${slot}`);
    const name = `${node.name} ${database}`;
    let opening = pipes.get(name);
    if (opening === undefined) {
      opening = RestorePipe.open(node, database, this.target.access, {
        onReply: (key, error) => {
          this.#onReply(key, error);
        },
        onEnd: (keys, reason) => {
          this.#returned.push(...keys);
          this.#note(reason);
        },
      });
      pipes.set(name, opening);
    }
    const pipe = await opening;
    if (pipes !== this.#pipes) return;
    if (!pipe.isOpen) throw new Failure(`the connection to ${node.name} was closed`);
    const bySlot = (this.#pipeOf[database] ??= []);
    for (const [each, owner] of owners.entries()) if (owner?.node === node) bySlot[each] = pipe;
  }

  #onReply(key: CopiedKey, error: string | undefined): void {
    if (error === undefined) this.#written++;
    else if (error.startsWith("BUSYKEY")) this.#kept++;
    else {
      const refusal = keyRefusal(this.target.name, key, error);
      if (refusal !== undefined) this.#failure ??= refusal;
      else {
        this.#returned.push(key);
        this.#note(error);
      }
    }
  }

  async #settle(): Promise<void> {
    await Promise.all((await this.#opened()).map((pipe) => pipe.idle()));
  }

  async #opened(): Promise<RestorePipe[]> {
    const opened = await Promise.allSettled(this.#pipes.values());
    return opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  }

  #forget(): void {
    for (const opening of this.#pipes.values())
      opening.then(
        (pipe) => {
          pipe.close();
        },
        () => undefined,
      );
    this.#pipes = new Map();
    this.#pipeOf = [];
    this.#owners = undefined;
  }
}
