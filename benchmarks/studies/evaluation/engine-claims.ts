/** S3: engines side by side: throughput, bytes per entry over a doubling of the table, and dips while it grows. */
import { formatCount } from "../../../lib/units";
import type { Claim, TableGrowth } from "../../results/study-schema";
import type { Conclusions, ClaimBasis } from "./claim";
import { claim, describeRatio } from "./claim";

/** Below this many keys what a server allocates for itself blurs what entries take. */
export const MIN_KEYS = 100_000;

export interface BytesPerEntry {
  /** Bytes per entry at the key counts of the sweep. */
  readonly min: number;
  readonly max: number;
  /** At the last sample. */
  readonly atEnd: number;
  /** Key counts of the extremes. */
  readonly minAtKeys: number;
  readonly maxAtKeys: number;
}

/** @returns undefined without samples of enough keys */
export function bytesPerEntry({ samples }: TableGrowth): BytesPerEntry | undefined {
  const points = samples
    .filter(({ keys }) => keys >= MIN_KEYS)
    .map(({ keys, bytes }) => ({ keys, each: bytes / keys }));
  const [first] = points;
  const end = points.at(-1);
  if (first === undefined || end === undefined) return undefined;
  const least = points.reduce((low, point) => (point.each < low.each ? point : low), first);
  const most = points.reduce((high, point) => (point.each > high.each ? point : high), first);
  return { min: least.each, max: most.each, atEnd: end.each, minAtKeys: least.keys, maxAtKeys: most.keys };
}

export interface RateDip {
  /** Keys there were. */
  readonly keys: number;
  /** Part of the median rate. */
  readonly part: number;
}

/** How long a rate is averaged, seconds: shorter ones are those of a scheduler. */
const WINDOW_SECONDS = 0.25;
/** Part of the median below which a window is a dip. */
const DIP = 0.7;

/** Keys per second over windows of a quarter of a second. */
export function insertionRates({ samples }: TableGrowth): { readonly keys: number; readonly rate: number }[] {
  const rates: { keys: number; rate: number }[] = [];
  let [from] = samples;
  for (const to of samples) {
    if (from === undefined || to.seconds - from.seconds < WINDOW_SECONDS || to.keys === from.keys) continue;
    rates.push({ keys: (from.keys + to.keys) / 2, rate: (to.keys - from.keys) / (to.seconds - from.seconds) });
    from = to;
  }
  return rates;
}

/** Dips nearer to each other than this, in doublings of the number of keys, are one. */
const APART = 0.15;

export function rateDips(growth: TableGrowth): RateDip[] {
  const rates = insertionRates(growth);
  const sorted = rates.map(({ rate }) => rate).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) return [];
  const low = rates.flatMap(({ keys, rate }) =>
    rate < DIP * middle && keys >= MIN_KEYS ? [{ keys, part: rate / middle }] : [],
  );
  return low.reduce<RateDip[]>((dips, dip) => {
    const last = dips.at(-1);
    if (last === undefined || !isNear(last.keys, dip.keys)) return [...dips, dip];
    return [...dips.slice(0, -1), last.part <= dip.part ? last : dip];
  }, []);
}

function isNear(a: number, b: number): boolean {
  return Math.abs(Math.log2(a / b)) < APART;
}

/** Dips that most rounds have near the same number of keys: those are the table's, others are the machine's. Of one round nobody knows. */
export function recurringDips(rounds: readonly TableGrowth[]): RateDip[] {
  const [first = [], ...others] = rounds.map(rateDips);
  return others.length === 0
    ? []
    : first.filter(
        ({ keys }) => others.filter((other) => other.some((dip) => isNear(dip.keys, keys))).length > others.length / 2,
      );
}

export function engineConclusions(basis: ClaimBasis): Conclusions {
  const { analysis, growth, versions } = basis;
  const [first, ...others] = analysis.treatments;
  if (first === undefined) return { findings: [], claims: [] };
  const name = (id: string, label: string): string =>
    `${label}${versions.has(id) ? ` (${versions.get(id) ?? ""})` : ""}`;
  const speeds = analysis.tests.flatMap(({ test, title }) =>
    others.map(
      (other) =>
        `${title}: ${name(other.id, other.label)} over ${name(first.id, first.label)} is ${describeRatio(analysis.ratio(first, other, test, "throughput"))}`,
    ),
  );
  const memory = analysis.treatments.flatMap(({ id, label }) => {
    const [grown] = growth.get(id) ?? [];
    const entries = grown === undefined ? undefined : bytesPerEntry(grown);
    return entries === undefined
      ? []
      : [
          `${name(id, label)}: ${entries.min.toFixed(0)} to ${entries.max.toFixed(0)} bytes per entry (at ${formatCount(entries.minAtKeys)} and ${formatCount(entries.maxAtKeys)} keys), a swing of ${((entries.max / entries.min - 1) * 100).toFixed(0)} %`,
        ];
  });
  const dips = analysis.treatments.flatMap(({ id, label }) => {
    const rounds = growth.get(id) ?? [];
    if (rounds.length < 2) return [];
    const found = recurringDips(rounds).map(
      ({ keys, part }) => `${(part * 100).toFixed(0)} % near ${formatCount(keys)} keys`,
    );
    return [
      `${name(id, label)}, new keys: ${found.length === 0 ? "no dip below 70 % of the median rate comes again" : `dips that come again: to ${found.join(", ")}`} (${rounds.length} rounds)`,
    ];
  });
  return {
    findings: [...speeds, ...memory, ...dips],
    claims: [dragonfly(), ...bytes(basis), degradation(basis), more()],
  };
}

function dragonfly(): Claim {
  return claim(
    "S3",
    "Dragonfly writes 1.5 times as much as Valkey 9.0 at 8 vCPUs, and its p99 is 4.2 times lower",
    "no-say",
    "Dragonfly runs on the platforms kubernetes and eks only (the stack engines measures it there), and the servers and the load generator of S3 have machines of their own",
  );
}

/** Bytes of S3's values. */
const S3_VALUE = 64;
const S3_BYTES = { least: 149, most: 150 } as const;

/** S3's metric is of one number of keys; a table's swing is as large as the difference it is held up for. */
function bytes({ analysis, growth, growthSize }: ClaimBasis): Claim[] {
  const [own, dragonflys] = [
    "Valkey takes 149 to 150 bytes per entry of 64 bytes with a time to live",
    "that is 15 % more than Dragonfly's 127",
  ];
  const valkey = analysis.treatments.find(({ engine }) => engine === undefined || engine.startsWith("valkey"));
  const rounds = valkey === undefined ? [] : (growth.get(valkey.id) ?? []).flatMap((each) => bytesPerEntry(each) ?? []);
  const neither = (why: string): Claim[] => [own, dragonflys].map((text) => claim("S3", text, "no-say", why));
  if (rounds.length === 0) return neither("memory was not measured (valkey:experiment.growth)");
  if (growthSize !== S3_VALUE)
    return neither(
      `entries of ${growthSize ?? 0} bytes were put in, not of ${S3_VALUE} (valkey:experiment.growth.dataSize)`,
    );
  const least = Math.min(...rounds.map((each) => each.min));
  const most = Math.max(...rounds.map((each) => each.max));
  const within = least <= S3_BYTES.most && most >= S3_BYTES.least;
  const swing = `what a table's doublings swing by is ${((most / least - 1) * 100).toFixed(0)} %`;
  return [
    claim(
      "S3",
      own,
      within ? "supported" : "contradicted",
      `${least.toFixed(0)} to ${most.toFixed(0)} over the sweep: ${swing}, so it depends on how many keys there are`,
    ),
    claim(
      "S3",
      dragonflys,
      "no-say",
      `Dragonfly was not measured here (the stack engines does, on kubernetes and eks); ${swing}, so one number of keys proves no 15 %`,
    ),
  ];
}

function degradation({ analysis, growth }: ClaimBasis): Claim {
  const text = "Valkey's write throughput falls when its table grows and is rehashed";
  const valkey = analysis.treatments.find(({ engine }) => engine === undefined || engine.startsWith("valkey"));
  const rounds = valkey === undefined ? [] : (growth.get(valkey.id) ?? []);
  if (rounds.length < 2)
    return claim(
      "S3",
      text,
      "no-say",
      "dips are told from a neighbour's noise by coming again at the same number of keys, which takes two rounds",
    );
  const again = recurringDips(rounds);
  return again.length === 0
    ? claim(
        "S3",
        text,
        "no-say",
        `no dip below 70 % came again at the same number of keys in ${rounds.length} rounds; the load generator shares the cores and hides short ones`,
      )
    : claim(
        "S3",
        text,
        "supported",
        `dips come again near ${again.map(({ keys }) => formatCount(keys)).join(", ")} keys in most of ${rounds.length} rounds`,
      );
}

function more(): Claim {
  return claim(
    "S3",
    "beyond 8 io-threads Valkey gains nothing",
    "no-say",
    "takes 16 cores for the server alone; see the study io-threads",
  );
}
