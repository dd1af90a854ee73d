import { Failure } from "../../../lib/errors";

export class FunctionLibraries {
  readonly #libraries = new Map<string, { readonly code: Buffer; readonly shard: string }>();

  get codes(): Buffer[] {
    return [...this.#libraries.values()].map(({ code }) => code);
  }

  /** @returns whether the library is new @throws Failure for different libraries of one name */
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
