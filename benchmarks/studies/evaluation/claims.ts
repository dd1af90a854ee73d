/** For each kind of study, what the claims of published documents say, what they need, and how they are judged. */
import type { Ratio } from "../../../lib/statistics/ratio";
import { COMMAND } from "../../../lib/system/package";
import { counted, formatCount, formatPercent } from "../../../lib/units";
import type { Claim, StudyFit, TableGrowth } from "../../results/study-schema";
import type { Treatment } from "../factors";
import type { TreatmentPair } from "../pairs";
import type { StudyKind } from "../study";
import { groupsVarying } from "./analysis";
import type { ClaimBasis } from "./findings";
import { describeExponent, describeRatio, modesOf, percentOver, threadGroups, threadsOf } from "./findings";
import { bytesPerEntry, recurringDips } from "./growth-analysis";

type Judgement = readonly [finding: Claim["finding"], why: string];

interface StatedClaim {
  readonly says: string;
  readonly judged: (basis: ClaimBasis) => Judgement;
}

/** @param needs data without which the claim cannot be judged, or the reason why these data are missing */
function claim<T extends object>(
  says: string,
  needs: (basis: ClaimBasis) => T | string,
  judge: (data: T, basis: ClaimBasis) => Judgement,
): StatedClaim {
  const judged = (basis: ClaimBasis): Judgement => {
    const data = needs(basis);
    return typeof data === "string" ? ["inconclusive", data] : judge(data, basis);
  };
  return { says, judged };
}

function untestable(says: string, why: (basis: ClaimBasis) => string): StatedClaim {
  return { says, judged: (basis) => ["inconclusive", why(basis)] };
}

interface DocumentClaims {
  readonly document: string;
  readonly claims: (basis: ClaimBasis) => readonly StatedClaim[];
}

const DOCUMENT_EXPONENT = 0.92;
/** Greatest width of a confidence interval with which a measured exponent can support the document's exponent. */
const MAX_WIDTH = 0.2;
/** Lowest exponent that counts as almost linear growth. */
const ALMOST_LINEAR = 0.9;
/** Greatest relative difference with which two rates count as equally fast. */
const PARITY = 0.1;
/** Size of a value in the document, and the bytes per entry that it reports for Valkey. */
const DOCUMENT_VALUE_SIZE = 64;
const DOCUMENT_BYTES = { min: 149, max: 150 } as const;

const CLAIMS: Readonly<Partial<Record<StudyKind, DocumentClaims>>> = {
  topologies: {
    document: "Valkey on EKS",
    claims: (basis) =>
      modesOf(basis) === undefined
        ? [untestable("a cluster serves more than replication", () => "the study does not measure both modes")]
        : TOPOLOGY_CLAIMS,
  },
  "io-threads": {
    document: "Valkey on a Raspberry Pi",
    claims: ({ analysis }) => analysis.tests.flatMap(({ test, title }) => threadClaims(test, title)),
  },
  engines: {
    document: "Dragonfly head-to-head",
    claims: ({ analysis }) => (analysis.treatments.length === 0 ? [] : ENGINE_CLAIMS),
  },
  density: { document: "Single-node multi-shard", claims: () => DENSITY_CLAIMS },
  billion: { document: "One billion requests per second", claims: () => BILLION_CLAIMS },
};

export function judgedClaims(kind: StudyKind, basis: ClaimBasis): Claim[] {
  const { document, claims } = CLAIMS[kind] ?? { document: "", claims: () => [] };
  return claims(basis).map(({ says, judged }) => {
    const [finding, why] = judged(basis);
    return { document, claim: says, finding, why };
  });
}

/**
 * Speed-ups of the cluster are the lowest that the document's own runs prove: it rounds durations to ticks of 250 ms,
 * so they prove less than its tables claim, and its "parity rps" allows any ratio from 0.5 to 2.
 */
const TOPOLOGY_CLAIMS: readonly StatedClaim[] = [
  claim("SET is at least 2.5× as fast in a cluster of three primaries", modesFor("set"), atLeast("set", 2.5)),
  claim("INCR is at least 2× as fast in a cluster of three primaries", modesFor("incr"), atLeast("incr", 2)),
  claim(
    "GET is as fast in both modes (here every GET finds its key; in the published document most GETs did not)",
    modesFor("get"),
    ({ base, other }, { analysis }) => isSimilar(analysis.ratio(base, other, "get", "throughput"), PARITY),
  ),
  untestable("GET's p50 is 1.9 times lower in a cluster", (basis) => {
    const { base, other } = modesOf(basis) ?? {};
    if (base === undefined || other === undefined) return "the study does not measure both modes";
    const p99 = describeRatio(basis.analysis.ratio(base, other, "get", "p99"));
    return (
      "the p50 of a closed loop at full speed is clients × pipeline / throughput, so it only repeats the throughput " +
      `(p99 of ${other.label} over ${base.label} is ${p99}); for latency at an offered rate use ` +
      `${COMMAND} --load-generator open-loop --rate N`
    );
  }),
  claim(
    "pipelining matters more than anything else: -P 1 is many times slower than -P 16",
    // Even a small machine can test this claim, because it slows both treatments down equally.
    ({ analysis }) => {
      const [pair] = groupsVarying(analysis.treatments, "pipeline").flatMap((group) => {
        const [base, other] = [1, 16].map((depth) => group.find(({ workload }) => workload.pipeline === depth));
        return base === undefined || other === undefined ? [] : [{ base, other }];
      });
      const [first] = analysis.tests;
      return pair === undefined || first === undefined
        ? "the study does not vary the pipeline (valkey:study.vary.pipeline)"
        : { ...pair, test: first.test };
    },
    (pair, basis) => atLeast(pair.test, 2)(pair, basis),
  ),
];

function threadClaims(test: string, title: string): StatedClaim[] {
  const withThreads = (basis: ClaimBasis, isWanted: (threads: number) => boolean): Treatment | undefined =>
    threadGroups(basis)[0]?.find((treatment) => isWanted(threadsOf(treatment)));
  return [
    claim(
      `${title}: with threads to spare, a second io-thread gains 35 %`,
      (basis) => {
        const [base, other] = [1, 2].map((wanted) => withThreads(basis, (threads) => threads === wanted));
        if (base === undefined || other === undefined) return "the study does not measure both 1 and 2 io-threads";
        return machineLimitReason(basis, [base, other], test) ?? { base, other };
      },
      atLeast(test, 1.35),
    ),
    claim(
      `${title}: more io-threads than cores are slower than one thread`,
      // A small machine shows this best, because even few threads use all of its cores.
      (basis) => {
        const base = withThreads(basis, (threads) => threads === 1);
        const other = withThreads(basis, (threads) => threads > basis.cores);
        if (base === undefined || other === undefined)
          return `the study does not measure both 1 io-thread and more than ${basis.cores} io-threads`;
        return decided(basis.analysis.ratio(base, other, test, "throughput"), { other });
      },
      ({ other, ratio }, { cores }) => [
        ratio.verdict === "less" ? "supported" : "contradicted",
        `${threadsOf(other)} threads on ${cores} cores have ${describeRatio(ratio)} of the throughput of one thread ` +
          "(0.81 in the published document, with 5 threads on 4 cores)",
      ],
    ),
  ];
}

/** One number of keys; bytes per entry change with it as much as the document claims between engines. */
const ENGINE_CLAIMS: readonly StatedClaim[] = [
  untestable(
    "Dragonfly writes 1.5 times as much as Valkey 9.0 at 8 vCPUs, and its p99 is 4.2 times lower",
    () =>
      "this study does not measure Dragonfly; the stack engines does, on the platforms kubernetes and eks. " +
      "In the published document, servers and load generator have a machine each",
  ),
  claim("Valkey takes 149 to 150 bytes per entry of 64 bytes with a time to live", memoryOf, ({ min, max, range }) => [
    min <= DOCUMENT_BYTES.max && max >= DOCUMENT_BYTES.min ? "supported" : "contradicted",
    `${min.toFixed(0)} to ${max.toFixed(0)} bytes while the table grows: ${range}`,
  ]),
  claim("Valkey takes 15 % more bytes per entry than Dragonfly, which takes 127", memoryOf, ({ range }) => [
    "inconclusive",
    "the study does not measure Dragonfly (the stack engines does, on kubernetes and eks); " +
      `${range}, so a measurement at one number of keys does not prove 15 %`,
  ]),
  claim(
    "Valkey's write throughput falls when its table grows and is rehashed",
    (basis) => {
      const rounds = valkeyGrowth(basis);
      if (rounds.length < 2)
        return "one round does not show whether the table or the machine causes a dip; dips of the table recur in other rounds at the same number of keys";
      const dips = recurringDips(rounds);
      return dips.length === 0
        ? `no dip below 70 % of the median rate recurs at the same number of keys in ${rounds.length} rounds; ` +
            "the load generator shares the cores with the server, which hides short dips"
        : { rounds, dips };
    },
    ({ rounds, dips }) => [
      "supported",
      `dips recur near ${dips.map(({ keys }) => formatCount(keys)).join(", ")} keys in most of ${rounds.length} rounds`,
    ],
  ),
  untestable(
    "beyond 8 io-threads Valkey gains nothing",
    () => "a test of this claim needs 16 cores that only the server uses; see the study io-threads",
  ),
];

const DENSITY_CLAIMS: readonly StatedClaim[] = [
  claim(
    `throughput grows with the number of shards to the power of ${DOCUMENT_EXPONENT}, up to 8 shards with one pinned CPU each`,
    ({ fits, cores }) =>
      exponentOf(fits.throughput) ??
      `on ${cores} cores, too few treatments have exclusive CPUs for the shards and the load generator; the published document had 60 cores`,
    (exponent) => {
      const { low, high } = exponent;
      const measured = `the exponent here is ${describeExponent(exponent)}`;
      if (low > DOCUMENT_EXPONENT || high < DOCUMENT_EXPONENT) return ["contradicted", measured];
      return high - low < MAX_WIDTH
        ? ["supported", measured]
        : ["inconclusive", `${measured}: the interval is too wide`];
    },
  ),
  claim(
    "more shards beat more cores per shard",
    ({ analysis, cores }) => {
      const { treatments, tests } = analysis;
      const used = ({ shape, cpus }: Treatment): number => shape.primaries * (cpus ?? 0);
      const [pair] = treatments.flatMap((many) =>
        treatments.flatMap((few) =>
          many.cpus !== undefined &&
          used(many) === used(few) &&
          many.shape.primaries > few.shape.primaries &&
          used(many) < cores
            ? [{ many, few }]
            : [],
        ),
      );
      return pair === undefined || tests[0] === undefined
        ? "a test of this claim needs two treatments that share the same number of CPUs among different numbers of shards, " +
            `and a CPU for the load generator; ${cores} cores are too few`
        : decided(analysis.ratio(pair.few, pair.many, tests[0].test, "throughput"), pair);
    },
    ({ many, few, ratio }) => [
      ratio.verdict === "greater" ? "supported" : "contradicted",
      `${many.label} over ${few.label} is ${describeRatio(ratio)}`,
    ],
  ),
  untestable(
    "from 16 shards on the load generator is saturated before the servers (marked by an asterisk)",
    ({ analysis }) => {
      const limited = analysis.treatments.flatMap((treatment) =>
        analysis.tests.flatMap(({ test, title }) => {
          const by = analysis.limitedBy(treatment, test);
          return by === undefined ? [] : [`${title} of ${treatment.label} (limited by the ${limitName(by)})`];
        }),
      );
      const found =
        limited.length === 0
          ? "the servers were the limit of every treatment"
          : `the servers were not the limit of ${limited.join(", ")}`;
      return `the study has fewer shards; judged by the CPU of servers and load generator, ${found}`;
    },
  ),
];

const BILLION_CLAIMS: readonly StatedClaim[] = [
  claim(
    "throughput grows almost linearly with the primaries",
    ({ fits, cores }) =>
      exponentOf(fits.throughput) ??
      `shards that share ${cores} cores with each other and with the load generators cannot add throughput; ` +
        "the published document had 8 cores for each of 2,000 nodes",
    (exponent) => {
      const measured = `the exponent is ${describeExponent(exponent)}`;
      if (exponent.low >= ALMOST_LINEAR) return ["supported", measured];
      if (exponent.high < ALMOST_LINEAR) return ["contradicted", measured];
      return ["inconclusive", `${measured}: the interval contains ${ALMOST_LINEAR}`];
    },
  ),
  claim(
    "the cluster bus costs next to nothing: an operation takes as much CPU in a large cluster as in a small one",
    // At an offered rate far below saturation no server waits for a core, even on a small machine.
    ({ analysis }) => {
      const atRate = groupsVarying(analysis.treatments, "primaries").find(
        (group) => group.length > 1 && group[0]?.workload.rate !== undefined,
      );
      const clusters = (atRate ?? [])
        .filter(({ mode }) => mode === "cluster")
        .sort((a, b) => a.shape.primaries - b.shape.primaries);
      const [small, large] = [clusters[0], clusters.at(-1)];
      const [first] = analysis.tests;
      return small === undefined || large === undefined || small === large || first === undefined
        ? "the study does not measure clusters of different sizes at one offered rate (valkey:study.vary.rate)"
        : { small, large, ratio: analysis.ratio(small, large, first.test, "cpu-per-operation") };
    },
    ({ small, large, ratio }) => {
      const measured =
        `with ${large.shape.primaries} primaries an operation takes ${describeRatio(ratio)} times as much CPU ` +
        `as with ${small.shape.primaries}, including the CPU that the additional processes use while idle`;
      if (ratio.verdict === "not-enough-data") return ["inconclusive", `${measured}: the interval is too wide`];
      return [ratio.verdict === "greater" ? "contradicted" : "supported", measured];
    },
  ),
  untestable("1,000 primaries with a replica each serve a billion SETs per second", ({ analysis, cores }) => {
    const rates = analysis.treatments.flatMap((treatment) =>
      analysis.tests.flatMap(({ test }) => analysis.median(treatment, test, "throughput") ?? []),
    );
    return (
      "a test of this claim needs 2,000 machines and 750 load generators; " +
      `the highest rate on these ${cores} cores is ${formatCount(Math.max(0, ...rates))}/s`
    );
  }),
];

/** The ratio with further data, or the reason why the ratio decides nothing. */
function decided<T extends object>(ratio: Ratio, data: T): (T & { readonly ratio: Ratio }) | string {
  return ratio.verdict === "not-enough-data"
    ? `measured ${describeRatio(ratio)}: the interval is too wide`
    : { ...data, ratio };
}

/** Both modes, or the reason why this machine cannot show which mode is faster at a test. */
function modesFor(test: string): (basis: ClaimBasis) => TreatmentPair | string {
  return (basis) => {
    const modes = modesOf(basis);
    if (modes === undefined) return "the study does not measure both modes";
    return machineLimitReason(basis, [modes.base, modes.other], test) ?? modes;
  };
}

function atLeast(test: string, limit: number): (pair: TreatmentPair, basis: ClaimBasis) => Judgement {
  return ({ base, other }, { analysis }) => {
    const ratio = analysis.ratio(base, other, test, "throughput");
    if (ratio.low === undefined || ratio.high === undefined) return ["inconclusive", tooFewRounds(ratio)];
    const measured = `measured ${describeRatio(ratio)}`;
    if (ratio.low >= limit) return ["supported", measured];
    if (ratio.high < limit) return ["contradicted", measured];
    return ["inconclusive", `${measured}: the interval contains ${limit}`];
  };
}

function isSimilar(ratio: Ratio, within: number): Judgement {
  if (ratio.low === undefined || ratio.high === undefined) return ["inconclusive", tooFewRounds(ratio)];
  const [min, max] = [1 / (1 + within), 1 + within];
  const measured = `measured ${describeRatio(ratio)}`;
  const alike = `within ${formatPercent(within)} of each other`;
  if (ratio.low >= min && ratio.high <= max) return ["supported", `${measured}: ${alike}`];
  if (ratio.high < min || ratio.low > max) return ["contradicted", `${measured}: not ${alike}`];
  return ["inconclusive", `${measured}: the interval is too wide to tell whether both are ${alike}`];
}

function tooFewRounds({ rounds }: Ratio): string {
  return `${counted(rounds, "round is", "rounds are")} too few`;
}

function exponentOf(fits: readonly StudyFit[]): NonNullable<StudyFit["exponent"]> | undefined {
  return fits.flatMap(({ exponent }) => exponent ?? [])[0];
}

function valkeyGrowth({ analysis, growth }: ClaimBasis): readonly TableGrowth[] {
  const valkey = analysis.treatments.find(({ engine }) => engine === undefined || engine.startsWith("valkey"));
  return valkey === undefined ? [] : (growth.get(valkey.id) ?? []);
}

/** Bytes per entry of Valkey over all rounds, or the reason why they cannot be compared with those of the document. */
function memoryOf(basis: ClaimBasis): { readonly min: number; readonly max: number; readonly range: string } | string {
  const rounds = valkeyGrowth(basis).flatMap((each) => bytesPerEntry(each) ?? []);
  if (rounds.length === 0) return "the study does not measure memory (valkey:study.growth)";
  if (basis.growthSize !== DOCUMENT_VALUE_SIZE)
    return (
      `the study inserts values of ${basis.growthSize ?? 0} bytes, but the published document used values of ` +
      `${DOCUMENT_VALUE_SIZE} bytes (valkey:study.growth.dataSize)`
    );
  const min = Math.min(...rounds.map((each) => each.min));
  const max = Math.max(...rounds.map((each) => each.max));
  return { min, max, range: `bytes per entry vary by ${percentOver(max, min)} % with the number of keys` };
}

/** One core for each thread of the servers, and one for the load generators, so that no thread waits. */
export function coresNeeded(treatments: readonly Treatment[]): number {
  return 1 + Math.max(1, ...treatments.map((treatment) => treatment.shape.primaries * threadsOf(treatment)));
}

/** Reason why this machine cannot show a speed-up between treatments; undefined if the machine can show a speed-up. */
function machineLimitReason(
  { analysis, cores }: ClaimBasis,
  treatments: readonly Treatment[],
  test: string,
): string | undefined {
  const needed = coresNeeded(treatments);
  if (cores < needed)
    return (
      `load generator and servers share ${cores} cores, but the servers could use ${needed - 1} cores: ` +
      `a test of this claim needs ${needed} cores`
    );
  const limited = treatments.flatMap((treatment) => {
    const by = analysis.limitedBy(treatment, test);
    return by === undefined ? [] : [`the ${limitName(by)} limited ${treatment.label}`];
  });
  return limited.length === 0 ? undefined : limited.join("; ");
}

export function limitName(by: "client" | "machine"): string {
  return by === "client" ? "load generator" : "machine";
}
