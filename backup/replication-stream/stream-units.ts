/** Units must not be split: a command, or a transaction from MULTI to EXEC. Clients could see the data after a unit. */
import { type StreamCommand, StreamCorrupt } from "./command-parser";

export interface StreamUnit {
  readonly commands: readonly StreamCommand[];
  readonly length: number;
  readonly database: number | undefined;
}

export class StreamUnits {
  #transaction: StreamCommand[] | undefined;
  #database: number | undefined;

  /** @returns undefined inside a transaction. @throws StreamCorrupt for SELECT without the number of a database */
  add(command: StreamCommand): StreamUnit | undefined {
    if (command.name === "SELECT") this.#select(command);
    if (command.name === "MULTI" && this.#transaction === undefined) {
      this.#transaction = [command];
      return undefined;
    }
    if (this.#transaction === undefined) return this.#unit([command]);
    this.#transaction.push(command);
    if (command.name !== "EXEC") return undefined;
    const commands = this.#transaction;
    this.#transaction = undefined;
    return this.#unit(commands);
  }

  #unit(commands: readonly StreamCommand[]): StreamUnit {
    const length = commands.reduce((sum, { bytes }) => sum + bytes.length, 0);
    return { commands, length, database: this.#database };
  }

  #select({ words }: StreamCommand): void {
    const text = words[1]?.toString("latin1") ?? "";
    if (!/^\d{1,9}$/.test(text)) throw new StreamCorrupt("SELECT does not name a database");
    this.#database = Number(text);
  }
}
