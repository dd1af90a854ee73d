/** Quantities in the notation of Kubernetes. Pure. The client library does not export its parser. */

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The value of a quantity: `500m` is 0.5, `1Ki` 1024, `1e3` 1000. NaN for other texts. */
export function parseQuantity(text: string): number {
  const [, number = "", suffix = ""] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const power = BINARY.indexOf(suffix);
  const factor = power >= 0 ? 1024 ** (power + 1) : FACTORS[suffix];
  return number === "" || factor === undefined ? NaN : Number(number) * factor;
}
