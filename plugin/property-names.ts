/**
 * Names of properties in other languages. A name such as `io-threads`, in Valkey and TypeScript, is not allowed in
 * most. Pure.
 */

/** A name in camel case, such as `ioThreads` for `io-threads`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
