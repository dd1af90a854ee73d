/** A maximum bipartite matching of replica places to zones with augmenting paths (Berge, 1957). */
import { type PlacedNode, groupByZone } from "./placement";

interface ReplicaPlaces {
  readonly primary: PlacedNode;
  readonly zones: string[];
  /** The matching does not change these zones. */
  kept: readonly string[];
}

type Rule = (places: ReplicaPlaces, zone: string) => boolean;

const notOwnZone: Rule = ({ primary }, zone) => zone !== primary.zone;
const anotherZoneEach: Rule = (places, zone) =>
  notOwnZone(places, zone) && !places.zones.includes(zone) && !places.kept.includes(zone);
const anyZone: Rule = () => true;

/**
 * Rules for the zone of a replica, the strictest first: a zone with neither the primary nor a replica of it, one
 * without the primary, any. Each fills as many places as possible, because a matching without an augmenting path is
 * maximum.
 * @param replicas exactly `primaries.length * perPrimary`
 * @param present replicas by primary, not in its zone; they stay unless another replica would then have to share its
 * primary's zone
 */
export function assignReplicas(
  primaries: readonly PlacedNode[],
  replicas: readonly PlacedNode[],
  perPrimary: number,
  present: ReadonlyMap<string, readonly PlacedNode[]> = new Map(),
): Map<string, PlacedNode[]> {
  const left = new Map([...groupByZone(replicas)].map(([zone, members]) => [zone, members.length]));
  const places = primaries.map((primary): ReplicaPlaces => ({
    primary,
    zones: [],
    kept: (present.get(primary.name) ?? []).map(({ zone }) => zone),
  }));
  for (const zone of places.flatMap(({ kept }) => kept)) left.set(zone, (left.get(zone) ?? 0) - 1);
  const fillAll = (rule: Rule): void => {
    for (let round = 1; round <= perPrimary; round++) {
      for (const place of places) if (place.zones.length + place.kept.length < round) fill(place, places, left, rule);
    }
  };
  fillAll(anotherZoneEach);
  fillAll(notOwnZone);
  for (const place of places) {
    place.zones.unshift(...place.kept);
    place.kept = [];
  }
  fillAll(notOwnZone);
  fillAll(anyZone);
  return nameReplicas(places, replicas, present);
}

/** A primary keeps a present replica if one of its places has the zone of this replica. */
function nameReplicas(
  places: readonly ReplicaPlaces[],
  replicas: readonly PlacedNode[],
  present: ReadonlyMap<string, readonly PlacedNode[]>,
): Map<string, PlacedNode[]> {
  const supply = groupByZone(replicas);
  const named = places.map(({ primary, zones }) => {
    const open = [...zones];
    const staying = (present.get(primary.name) ?? []).filter(
      ({ zone }) => open.includes(zone) && open.splice(open.indexOf(zone), 1).length > 0,
    );
    for (const { name, zone } of staying)
      supply.set(
        zone,
        (supply.get(zone) ?? []).filter((each) => each.name !== name),
      );
    return { primary, staying, open };
  });
  return new Map(
    named.map(({ primary, staying, open }) => [
      primary.name,
      [...staying, ...open.flatMap((zone) => supply.get(zone)?.shift() ?? [])],
    ]),
  );
}

/** Along the shortest augmenting path over zones. Places of other primaries can move to a different zone. */
function fill(place: ReplicaPlaces, all: readonly ReplicaPlaces[], left: Map<string, number>, rule: Rule): void {
  const zones = [...left.keys()].sort((a, b) => (left.get(b) ?? 0) - (left.get(a) ?? 0));
  const reached = new Map<string, { from: string; mover: ReplicaPlaces } | undefined>();
  const queue = zones.filter((zone) => rule(place, zone));
  for (const zone of queue) reached.set(zone, undefined);
  for (const zone of queue) {
    if ((left.get(zone) ?? 0) > 0) {
      take(zone, place, reached, left);
      return;
    }
    for (const next of zones) {
      if (reached.has(next)) continue;
      const mover = all.find((other) => other !== place && other.zones.includes(zone) && rule(other, next));
      if (mover === undefined) continue;
      reached.set(next, { from: zone, mover });
      queue.push(next);
    }
  }
}

/** From the place that must be filled to a zone that has a replica without a place. */
function take(
  end: string,
  place: ReplicaPlaces,
  reached: ReadonlyMap<string, { from: string; mover: ReplicaPlaces } | undefined>,
  left: Map<string, number>,
): void {
  left.set(end, (left.get(end) ?? 0) - 1);
  let zone = end;
  for (let step = reached.get(zone); step !== undefined; step = reached.get(zone)) {
    step.mover.zones[step.mover.zones.indexOf(step.from)] = zone;
    zone = step.from;
  }
  place.zones.push(zone);
}
