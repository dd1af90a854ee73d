/** Valkey and TypeScript allow a name such as `io-threads`, but most languages do not. */

export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
