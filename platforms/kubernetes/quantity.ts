/** Quantities as Kubernetes writes them. Pure; the client library has this and does not export it. */

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

/** `500m` CPU is 0.5, `1Ki` of memory 1024, `1e3` 1000; NaN when it is none. */
export function parseQuantity(text: string): number {
  const [, number = "", suffix = ""] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const power = BINARY.indexOf(suffix);
  const factor = power >= 0 ? 1024 ** (power + 1) : FACTORS[suffix];
  return number === "" || factor === undefined ? NaN : Number(number) * factor;
}
