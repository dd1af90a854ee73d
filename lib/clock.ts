/** The clock of this machine. */

/** Milliseconds since the epoch, with fractions. Later calls never return smaller values. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}
