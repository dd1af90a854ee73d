/** Which replica follows which primary: a matching of places to zones, by augmenting paths. Pure. */
import type { PlacedNode } from "./placement";
import { byZone } from "./placement";

/** A primary and the zones its replicas come from, one entry per place filled so far. */
interface Places {
  readonly primary: PlacedNode;
  readonly zones: string[];
}

/** Whether a place of this primary may be filled from this zone. */
type Rule = (places: Places, zone: string) => boolean;

const notOwnZone: Rule = ({ primary }, zone) => zone !== primary.zone;
const anotherZoneEach: Rule = (places, zone) => notOwnZone(places, zone) && !places.zones.includes(zone);
const anyZone: Rule = () => true;

/**
 * Gives every primary `perPrimary` of the replicas, by three rules in falling strictness: in a zone that
 * neither the primary nor a sibling is in; not in the primary's zone; anywhere. Every rule fills as many
 * places as any assignment could (Berge: a matching without an augmenting path is largest), so a replica
 * shares its primary's zone only when that cannot be avoided.
 * @param replicas exactly `primaries.length * perPrimary` of them
 * @returns the replicas of each primary, by the primary's name
 */
export function assignReplicas(
  primaries: readonly PlacedNode[],
  replicas: readonly PlacedNode[],
  perPrimary: number,
): Map<string, PlacedNode[]> {
  const supply = byZone(replicas);
  const left = new Map([...supply].map(([zone, members]) => [zone, members.length]));
  const places = primaries.map((primary): Places => ({ primary, zones: [] }));
  for (const rule of [anotherZoneEach, notOwnZone, anyZone]) {
    for (let round = 1; round <= perPrimary; round++) {
      for (const place of places) if (place.zones.length < round) fill(place, places, left, rule);
    }
  }
  return new Map(places.map(({ primary, zones }) => [primary.name, zones.flatMap((zone) => supply.get(zone)?.shift() ?? [])]));
}

/**
 * Fills one place along the shortest augmenting path over zones: directly from a zone with replicas
 * left, or by moving another primary's place from zone to zone until one with replicas left is reached.
 */
function fill(place: Places, all: readonly Places[], left: Map<string, number>, rule: Rule): void {
  const zones = [...left.keys()].sort((a, b) => (left.get(b) ?? 0) - (left.get(a) ?? 0));
  const reached = new Map<string, { from: string; mover: Places } | undefined>();
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

/** Walks the path back from the zone with replicas left to the place that asked. */
function take(
  end: string,
  place: Places,
  reached: ReadonlyMap<string, { from: string; mover: Places } | undefined>,
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
