/** Names of properties in all languages. `io-threads`, as TypeScript and Valkey have it, is not a name in most. Pure. */

/** `io-threads` → `ioThreads` */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
