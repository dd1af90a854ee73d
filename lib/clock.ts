/** The clock of this machine. */

/** Milliseconds since the epoch, with fractions, never running backwards. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}
