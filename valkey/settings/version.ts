/** Versions of Valkey, and rules about which version can read the data of a different version. Pure. */

/** Pattern for a version such as `9.1.2`. The last number can be missing, as in the tag of an image. */
const VERSION = /^v?(\d{1,2})\.(\d{1,2})(?:\.\d+)?(?![\w.])/;

/**
 * Major and minor version at the beginning of a text.
 * @param text a version, or the tag of an image: `9.1.2-alpine@sha256:…`
 * @returns undefined if the text does not begin with a version
 */
function lineOf(text: string): readonly [number, number] | undefined {
  const [, major, minor] = VERSION.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

/**
 * Whether a server of the version `to` may be unable to read data that a server of the version `from` wrote. False if a
 * version is unknown.
 *
 * Patch versions of the same minor version can read each other's data. A newer minor version can write a newer RDB
 * format: 9.0 writes format 80, and 8.1 reads formats up to 11. The append-only file of a newer minor version can also
 * contain commands that the older version does not know.
 */
export function cannotReadDataOf(from: string, to: string): boolean {
  const [before, after] = [lineOf(from), lineOf(to)];
  if (before === undefined || after === undefined) return false;
  return after[0] < before[0] || (after[0] === before[0] && after[1] < before[1]);
}

/**
 * The minor version in a text: `9.1` for `9.1.2`.
 * @param text a version, or the tag of an image
 * @returns undefined if the text does not begin with a version
 */
export function minorVersion(text: string): string | undefined {
  return lineOf(text)?.join(".");
}

/**
 * The major version in a text: `9` for `9.1.2`.
 * @param text a version, or the tag of an image
 * @returns undefined if the text does not begin with a version
 */
export function majorVersion(text: string): number | undefined {
  return lineOf(text)?.[0];
}

/** The tag of an image, without its digest. Undefined if the image has no tag. */
export function tagOf(image: string): string | undefined {
  return /^[^@]*:([^/:@]+)(@|$)/.exec(image)?.[1];
}
