/**
 * Names of properties in other languages. Valkey and TypeScript allow a name such as `io-threads`, but most languages
 * do not. Pure.
 */

/** A name in camel case, such as `ioThreads` for `io-threads`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
