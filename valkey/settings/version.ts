/** The last number can be missing, as in the tag of an image. */
const VERSION = /^v?(\d{1,2})\.(\d{1,2})(?:\.\d+)?(?![\w.])/;

/** @param text a version, or the tag of an image: `9.1.2-alpine@sha256:…` */
function lineOf(text: string): readonly [number, number] | undefined {
  const [, major, minor] = VERSION.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

/**
 * False if a version is unknown. Patch versions read each other's data. A newer minor version can write a newer RDB
 * format (9.0 writes 80, 8.1 reads up to 11), and unknown commands in its append-only file.
 */
export function cannotReadDataOf(from: string, to: string): boolean {
  const [before, after] = [lineOf(from), lineOf(to)];
  if (before === undefined || after === undefined) return false;
  return after[0] < before[0] || (after[0] === before[0] && after[1] < before[1]);
}

/** `9.1` for `9.1.2`. @param text a version, or the tag of an image */
export function minorVersion(text: string): string | undefined {
  return lineOf(text)?.join(".");
}

/** @param text a version, or the tag of an image */
export function majorVersion(text: string): number | undefined {
  return lineOf(text)?.[0];
}

export function tagOf(image: string): string | undefined {
  return /^[^@]*:([^/:@]+)(@|$)/.exec(image)?.[1];
}
