/** Written here because `@stdlib/stats-base-dists-t-quantile`, which agrees to 4e-10, has 220 dependencies (27 MB). */
import { gammaln } from "simple-statistics";

const PRECISION = 1e-12;

const known = new Map<string, number>();

/** |T| exceeds this value with probability 1 − `confidence`. @param degrees of freedom, at least 1 */
export function twoSidedT(confidence: number, degrees: number): number {
  if (!(confidence > 0 && confidence < 1) || !(degrees >= 1))
    throw new Error(`no t value for confidence ${confidence} and ${degrees} degrees of freedom`);
  const key = `${confidence} ${degrees}`;
  const found = known.get(key) ?? search(1 - confidence, degrees);
  known.set(key, found);
  return found;
}

function search(tail: number, degrees: number): number {
  let low = 0;
  let high = 2;
  while (twoSidedTail(high, degrees) > tail) high *= 2;
  while (high - low > PRECISION * high) {
    const middle = (low + high) / 2;
    if (twoSidedTail(middle, degrees) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(|T| > t). It is the regularised incomplete beta function I of ν / (ν + t²) with the parameters ν/2 and ½. */
export function twoSidedTail(t: number, degrees: number): number {
  return incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5);
}

/** Continued fraction DLMF 8.17.22 where it converges fast; elsewhere the arguments are reflected first. */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(gammaln(a + b) - gammaln(a) - gammaln(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  return front * continuedFraction(x, a, b);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function continuedFraction(x: number, a: number, b: number): number {
  const nonZero = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / nonZero(1 + term * d);
      c = nonZero(1 + term / c);
      step = c * d;
      fraction *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return fraction;
}
