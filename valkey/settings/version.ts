/** Versions of Valkey, and which server can read what another one wrote. Pure. */

/** `9.1.2`; a tag may leave out the last number. */
const VERSION = /^v?(\d{1,2})\.(\d{1,2})(?:\.\d+)?(?![\w.])/;

/**
 * Major and minor version.
 * @param text a version, or the tag of an image: `9.1.2-alpine@sha256:…`
 * @returns undefined where it begins with no version
 */
function lineOf(text: string): readonly [number, number] | undefined {
  const [, major, minor] = VERSION.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

/**
 * Whether a server of the version `to` may be unable to read the data of one of the version `from`. Patch versions of
 * one minor version read each other's. A newer minor version may write another RDB format (9.0 writes format 80, 8.1 reads
 * up to 11) and, into the append-only file, commands that the older one does not know. Unknown versions are not compared.
 */
export function cannotReadDataOf(from: string, to: string): boolean {
  const [before, after] = [lineOf(from), lineOf(to)];
  if (before === undefined || after === undefined) return false;
  return after[0] < before[0] || (after[0] === before[0] && after[1] < before[1]);
}

/** `9.1` of `9.1.2`. @param text as `lineOf` takes it @returns undefined where it begins with no version */
export function minorVersion(text: string): string | undefined {
  return lineOf(text)?.join(".");
}

/** @param text as `lineOf` takes it @returns undefined where it begins with no version */
export function majorVersion(text: string): number | undefined {
  return lineOf(text)?.[0];
}

/** The tag of an image, without its digest; undefined where it has none. */
export function tagOf(image: string): string | undefined {
  return /^[^@]*:([^/:@]+)(@|$)/.exec(image)?.[1];
}
