/**
 * Names of properties in other languages. Valkey and TypeScript allow a name such as `io-threads`, but most languages
 * do not. Pure.
 */

/** Converts a name to camel case, such as `io-threads` to `ioThreads`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
