/**
 * Names of properties in other languages. Most languages do not allow a name such as `io-threads`, which Valkey and
 * TypeScript allow. Pure.
 */

/** A name in camel case, such as `ioThreads` for `io-threads`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
