/** Libraries of functions of several shards, each once. */
import { Failure } from "../../../lib/errors";

/** The libraries of functions of a deployment of a new shape: the libraries of all archived shards. */
export class FunctionLibraries {
  /** Code of each library, and the first shard that has the library, by name of the library. */
  readonly #libraries = new Map<string, { readonly code: Buffer; readonly shard: string }>();

  /** Code of each library. */
  get codes(): Buffer[] {
    return [...this.#libraries.values()].map(({ code }) => code);
  }

  /**
   * Adds a library of a shard.
   * @returns whether the library is new
   * @throws Failure if a different shard has a different library with the same name
   */
  add(shard: string, code: Buffer): boolean {
    const name = /^#![^\n]*\bname=(\S+)/.exec(code.toString("latin1"))?.[1] ?? code.toString("latin1");
    const known = this.#libraries.get(name);
    if (known?.code.equals(code) === true) return false;
    if (known !== undefined)
      throw new Failure(
        `${known.shard} and ${shard} have different libraries of functions with the name ${JSON.stringify(name)}, so ` +
          "their data do not fit into one deployment of a different shape; restore the archived shape",
      );
    this.#libraries.set(name, { code: Buffer.from(code), shard });
    return true;
  }
}
