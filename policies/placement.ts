/** Rule: a hard constraint spreads servers over zones. */
import { podsOf } from "./pods";
import type { Rule } from "./rule";
import { propertyAt, entriesAt, listAt, textAt } from "./rule";

const ZONE = "topology.kubernetes.io/zone";

export const hardZoneSpread: Rule = {
  name: "hard-zone-spread",
  description:
    "Replicated Valkey pods are spread over zones by a hard constraint. A soft constraint puts a primary and its replica " +
    "into one zone when a zone is full.",
  check: (resource) =>
    podsOf(resource).flatMap(({ labels, spec, replicated }) => {
      if (!replicated || labels["app.kubernetes.io/name"] !== "valkey") return [];
      const spread = listAt(spec, "topologySpreadConstraints").some(
        (each) => textAt(each, "topologyKey") === ZONE && textAt(each, "whenUnsatisfiable") === "DoNotSchedule",
      );
      return spread || isBoundToZone(spec)
        ? []
        : [`no topologySpreadConstraint on ${ZONE} with whenUnsatisfiable DoNotSchedule, and no fixed zone`];
    }),
};

/** Whether a pod is bound to one zone, by a selector or by required affinity. */
function isBoundToZone(spec: unknown): boolean {
  if (entriesAt(spec, "nodeSelector").some(([key]) => key === ZONE)) return true;
  const terms = listAt(
    spec,
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
  );
  // Terms are alternatives, so each term must name the zone.
  return (
    terms.length > 0 &&
    terms.every((term) =>
      listAt(term, "matchExpressions").some(
        (each) =>
          propertyAt(each, "key") === ZONE && textAt(each, "operator") === "In" && listAt(each, "values").length === 1,
      ),
    )
  );
}
