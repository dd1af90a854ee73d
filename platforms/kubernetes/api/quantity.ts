/** The client library does not export its parser of quantities. */

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
const DECIMAL = ["k", "M", "G", "T", "P", "E"];

/** Parses a quantity to a number: `500m` is 0.5, `1Ki` is 1024, `1e3` is 1000. NaN for other texts. */
export function parseQuantity(text: string): number {
  const [, number = "", suffix = ""] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const power = BINARY.indexOf(suffix);
  const factor = power >= 0 ? 1024 ** (power + 1) : FACTORS[suffix];
  const value = number === "" || factor === undefined ? NaN : Number(number) * factor;
  return Number.isFinite(value) ? value : NaN;
}

/** As the API server prints it: `1Gi` for `1024Mi`, but `1500Mi` for `1500Mi`. Other texts are unchanged. */
export function canonicalQuantity(text: string): string {
  const value = parseQuantity(text);
  if (!Number.isSafeInteger(value) || value <= 0) return text;
  const divisible = (base: number, suffixes: readonly string[]): string[] =>
    suffixes.flatMap((suffix, index) =>
      value % base ** (index + 1) === 0 ? [`${value / base ** (index + 1)}${suffix}`] : [],
    );
  const texts = [...divisible(1024, BINARY), ...divisible(1000, DECIMAL), String(value)];
  return texts.reduce((shortest, each) => (each.length < shortest.length ? each : shortest));
}
