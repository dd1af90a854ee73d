/**
 * Claims of the published document "Dragonfly head-to-head" (docs/sources.md). The claims are about throughput of
 * engines, bytes per entry, and dips while the table grows.
 */
import { formatCount } from "../../../lib/units";
import type { Claim, TableGrowth } from "../../results/study-schema";
import type { Treatment } from "../factors";
import type { ClaimBasis, Conclusions } from "./claim";
import { describeRatio, DOCUMENTS, StatedClaim } from "./claim";
import { bytesPerEntry, recurringDips } from "./growth-analysis";

const stated = (text: string): StatedClaim => new StatedClaim(DOCUMENTS.dragonfly, text);

export function engineConclusions(basis: ClaimBasis): Conclusions {
  const { analysis } = basis;
  return {
    findings: [
      ...throughputFindings(basis),
      ...analysis.treatments.flatMap((treatment) => memoryFindings(basis, treatment)),
      ...analysis.treatments.flatMap((treatment) => dipFindings(basis, treatment)),
    ],
    claims:
      analysis.treatments.length === 0
        ? []
        : [dragonflyThroughput(), ...memoryClaims(basis), degradation(basis), ioThreadLimit()],
  };
}

/** A treatment as text: `valkey-8.1 (valkey 8.1.1)`. */
function nameOf({ versions }: ClaimBasis, { id, label }: Treatment): string {
  const version = versions.get(id);
  return version === undefined ? label : `${label} (${version})`;
}

function throughputFindings(basis: ClaimBasis): string[] {
  const { analysis } = basis;
  const [first, ...others] = analysis.treatments;
  if (first === undefined) return [];
  return analysis.tests.flatMap(({ test, title }) =>
    others.map((other) => {
      const ratio = describeRatio(analysis.ratio(first, other, test, "throughput"));
      return `${title}: ${nameOf(basis, other)} over ${nameOf(basis, first)} is ${ratio}`;
    }),
  );
}

function memoryFindings(basis: ClaimBasis, treatment: Treatment): string[] {
  const [growth] = basis.growth.get(treatment.id) ?? [];
  const entries = growth === undefined ? undefined : bytesPerEntry(growth);
  if (entries === undefined) return [];
  const { min, max, minAtKeys, maxAtKeys } = entries;
  return [
    `${nameOf(basis, treatment)}: ${min.toFixed(0)} to ${max.toFixed(0)} bytes per entry ` +
      `(at ${formatCount(minAtKeys)} and ${formatCount(maxAtKeys)} keys), a range of ${percentOver(max, min)} %`,
  ];
}

function dipFindings(basis: ClaimBasis, treatment: Treatment): string[] {
  const rounds = basis.growth.get(treatment.id) ?? [];
  if (rounds.length < 2) return [];
  const dips = recurringDips(rounds).map(
    ({ keys, part }) => `${(part * 100).toFixed(0)} % near ${formatCount(keys)} keys`,
  );
  const found =
    dips.length === 0 ? "no dip below 70 % of the median rate recurs" : `recurring dips: to ${dips.join(", ")}`;
  return [`${nameOf(basis, treatment)}, insertion of new keys: ${found} (${rounds.length} rounds)`];
}

function percentOver(max: number, min: number): string {
  return ((max / min - 1) * 100).toFixed(0);
}

function dragonflyThroughput(): Claim {
  return stated(
    "Dragonfly writes 1.5 times as much as Valkey 9.0 at 8 vCPUs, and its p99 is 4.2 times lower",
  ).inconclusive(
    "this study does not measure Dragonfly; the stack engines does, on the platforms kubernetes and eks. " +
      "In the published document, servers and load generator have a machine each",
  );
}

/**
 * Size of a value in the published document, bytes. `DOCUMENT_BYTES` has the bytes per entry that the document reports
 * for Valkey.
 */
const DOCUMENT_VALUE_SIZE = 64;
const DOCUMENT_BYTES = { min: 149, max: 150 } as const;

function valkeyGrowth({ analysis, growth }: ClaimBasis): readonly TableGrowth[] {
  const valkey = analysis.treatments.find(({ engine }) => engine === undefined || engine.startsWith("valkey"));
  return valkey === undefined ? [] : (growth.get(valkey.id) ?? []);
}

/**
 * Judges the claims about memory. The published document measured with one number of keys only. But the bytes per entry
 * change with the number of keys by at least as much as the difference that the document claims between engines.
 */
function memoryClaims(basis: ClaimBasis): Claim[] {
  const own = stated("Valkey takes 149 to 150 bytes per entry of 64 bytes with a time to live");
  const dragonflys = stated("Valkey takes 15 % more bytes per entry than Dragonfly, which takes 127");
  const rounds = valkeyGrowth(basis).flatMap((each) => bytesPerEntry(each) ?? []);
  const neither = (why: string): Claim[] => [own, dragonflys].map((claim) => claim.inconclusive(why));
  if (rounds.length === 0) return neither("the study does not measure memory (valkey:study.growth)");
  if (basis.growthSize !== DOCUMENT_VALUE_SIZE)
    return neither(
      `the study inserts values of ${basis.growthSize ?? 0} bytes, but the published document used values of ` +
        `${DOCUMENT_VALUE_SIZE} bytes (valkey:study.growth.dataSize)`,
    );
  const min = Math.min(...rounds.map((each) => each.min));
  const max = Math.max(...rounds.map((each) => each.max));
  const contains = min <= DOCUMENT_BYTES.max && max >= DOCUMENT_BYTES.min;
  const range = `bytes per entry vary by ${percentOver(max, min)} % with the number of keys`;
  const measured = `${min.toFixed(0)} to ${max.toFixed(0)} bytes while the table grows: ${range}`;
  return [
    contains ? own.supported(measured) : own.contradicted(measured),
    dragonflys.inconclusive(
      "the study does not measure Dragonfly (the stack engines does, on kubernetes and eks); " +
        `${range}, so a measurement at one number of keys does not prove 15 %`,
    ),
  ];
}

function degradation(basis: ClaimBasis): Claim {
  const claim = stated("Valkey's write throughput falls when its table grows and is rehashed");
  const rounds = valkeyGrowth(basis);
  if (rounds.length < 2)
    return claim.inconclusive(
      "one round does not show whether the table or the machine causes a dip; dips of the table recur in other rounds at the same number of keys",
    );
  const dips = recurringDips(rounds);
  if (dips.length === 0)
    return claim.inconclusive(
      `no dip below 70 % of the median rate recurs at the same number of keys in ${rounds.length} rounds; ` +
        "the load generator shares the cores with the server, which hides short dips",
    );
  const keys = dips.map((dip) => formatCount(dip.keys)).join(", ");
  return claim.supported(`dips recur near ${keys} keys in most of ${rounds.length} rounds`);
}

function ioThreadLimit(): Claim {
  return stated("beyond 8 io-threads Valkey gains nothing").inconclusive(
    "a test of this claim needs 16 cores that only the server uses; see the study io-threads",
  );
}
