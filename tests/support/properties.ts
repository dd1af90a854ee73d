import fc from "fast-check";

type Arbitraries<Values extends unknown[]> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> };
type Check<Values extends unknown[]> = (...values: Values) => unknown;

/** Checks a property for values that are drawn from these arbitraries. A check fails if it throws or returns false. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  check: Check<Values>,
): void;
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  parameters: { readonly numRuns: number },
  check: Check<Values>,
): void;
export function forAll<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  ...rest: [Check<Values>] | [{ readonly numRuns: number }, Check<Values>]
): void {
  const [parameters, check] = rest.length === 1 ? [{}, rest[0]] : rest;
  const property = fc.property(fc.tuple<Values>(...arbitraries), (values) => check(...values) as boolean | undefined);
  fc.assert(property, parameters);
}
