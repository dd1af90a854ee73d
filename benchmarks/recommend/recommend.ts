import { compact } from "../../lib/compact";
import { formatCount } from "../../lib/units";
import type { Results } from "../results/schema";
import { mixedCapacity, sustainedRate } from "./capacity";
import { chooseCapacities } from "./capacity-choice";
import { explainAssumptions, explainCapacity, explainMemory, explainRate } from "./explanation";
import type { PricedMachine, Recommendation, Requirements } from "./recommendation";
import { type Basis, dataNeeded, MAX_PRIMARIES, sizeDeployments, usableRate } from "./sizing";

const MAX_OPTIONS = 5;

export function recommend(
  need: Requirements,
  all: readonly Results[],
  offers: readonly PricedMachine[],
): Recommendation {
  const { choice, missing } = chooseCapacities(need, all);
  const capacity = mixedCapacity(need.reads, choice.get?.perPrimary, choice.set?.perPrimary);
  const without = compact([...missing, offers.length === 0 ? "no prices of machines are known" : undefined]);
  if (capacity === undefined || without.length > 0)
    return { options: [], arithmetic: [], assumptions: [], missing: ["not enough data", ...without] };
  const used = compact([choice.get, choice.set]);
  const ioThreads = used[0]?.ioThreads ?? 1;
  const { p99Ms } = need;
  const sustained = p99Ms === undefined ? undefined : sustainedRate(all, { ...need, p99Ms, ioThreads });
  const basis: Basis = { need, capacity, sustained, ioThreads };
  if (usableRate(basis) <= 0) {
    const why = `a primary with a capacity of ${formatCount(capacity)}/s cannot meet p99 ≤ ${p99Ms ?? 0} ms at any load`;
    return { options: [], arithmetic: [], assumptions: explainAssumptions(basis, used, []), missing: [why] };
  }
  const options = sizeDeployments(basis, offers, compact([...used, sustained])).slice(0, MAX_OPTIONS);
  return {
    options,
    arithmetic: [...explainCapacity(basis, choice), ...explainRate(basis), explainMemory(need, dataNeeded(need))],
    assumptions: explainAssumptions(basis, used, options),
    missing:
      options.length === 0
        ? [`no machine type of the price table is large enough with at most ${MAX_PRIMARIES} primaries`]
        : [],
  };
}
