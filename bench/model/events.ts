/** Events of the model: what may happen to three servers of one data set, drawn at random, and as text. Pure. */
import fc from "fast-check";
import { BadInput, problem } from "../../lib/errors";

export const MODES = ["replication", "sentinels", "cluster"] as const;
export type ModelMode = (typeof MODES)[number];
export const PERSISTENCES = ["none", "snapshots", "append-only"] as const;
export type Persistence = (typeof PERSISTENCES)[number];

/** A server by its present role: the primary, or one of the two others in the order of their names. */
const TARGETS = ["primary", "first", "second"] as const;
/** Seconds until a killed server's container starts again. */
const DOWN = ["0", "2", "6"] as const;
/** Seconds of a freeze. Production waits are four times as long as those of the model, so 10 s stand for 40 s. */
const FROZEN = ["1", "3", "6", "10"] as const;

interface Kind {
  /** Allowed words after the verb. */
  readonly words: readonly (readonly string[])[];
  /** Part of all events, for drawing. */
  readonly weight: number;
  readonly modes?: readonly ModelMode[];
  readonly persistences?: readonly Persistence[];
}

const KINDS = {
  /** Some keys, and WAIT for so many replicas. */
  write: { words: [["5"], ["0", "1", "2"]], weight: 20 },
  freeze: { words: [TARGETS, FROZEN], weight: 6 },
  thaw: { words: [TARGETS], weight: 1 },
  kill: { words: [TARGETS, DOWN], weight: 6 },
  /** Power loss: what the disk has not synchronized is gone. */
  power: { words: [TARGETS, DOWN], weight: 4, persistences: ["append-only"] },
  /** A new pod with an empty disk. */
  lose: { words: [TARGETS, DOWN], weight: 1 },
  /** Stop in order, with the hand-over of its mode. */
  stop: { words: [TARGETS, DOWN], weight: 1 },
  /** The clock of a machine steps by so many hours. */
  clock: { words: [TARGETS, ["-2", "2"]], weight: 2 },
  /** A person makes a server a primary. */
  promote: { words: [["first", "second"]], weight: 1 },
  fill: { words: [TARGETS], weight: 1, persistences: ["snapshots", "append-only"] },
  empty: { words: [TARGETS], weight: 1, persistences: ["snapshots", "append-only"] },
  save: { words: [TARGETS], weight: 3, persistences: ["snapshots"] },
  /** All servers and Sentinels at once; with `replace`, Sentinels also lose their files. */
  all: { words: [["kill", "power", "replace"], DOWN], weight: 1 },
  sentinel: {
    words: [
      ["kill", "lose"],
      ["0", "1", "2"],
    ],
    weight: 1,
    modes: ["sentinels"],
  },
  verify: { words: [], weight: 1 },
  wait: { words: [["1", "3"]], weight: 4 },
} as const satisfies Record<string, Kind>;

export type Verb = keyof typeof KINDS;
export const VERBS = Object.keys(KINDS) as Verb[];

/** An event: its verb and its words. */
export type Event = readonly [verb: Verb, ...words: string[]];

/** Random events. @param without verbs that are not drawn. @default none */
export function eventsOf(
  mode: ModelMode,
  persistence: Persistence,
  count: number,
  without: readonly Verb[] = [],
): fc.Arbitrary<Event[]> {
  const kinds = VERBS.flatMap((verb) => {
    const { words, weight, modes = MODES, persistences = PERSISTENCES }: Kind = KINDS[verb];
    if (!modes.includes(mode) || !persistences.includes(persistence) || without.includes(verb)) return [];
    const arbitrary = fc.tuple(...words.map((allowed) => fc.constantFrom(...allowed)));
    return [{ weight, arbitrary: arbitrary.map((chosen): Event => [verb, ...chosen]) }];
  });
  return fc.array(fc.oneof(...kinds), { minLength: Math.ceil(count / 2), maxLength: count, size: "max" });
}

/** Events as one line, which `parseEvents` reads. */
export function formatEvents(events: readonly Event[]): string {
  return events.map((event) => event.join(" ")).join(", ");
}

/** @throws BadInput with every event that does not exist */
export function parseEvents(text: string): Event[] {
  const all = text
    .split(",")
    .map((event) => event.trim().split(/\s+/))
    .filter(([verb]) => verb !== "");
  const problems = all.filter((event) => !isEvent(event));
  if (problems.length > 0)
    throw new BadInput(
      "--events",
      problems.map((event) => problem("no-such-event", "", `"${event.join(" ")}": expected one of ${USAGE}`)),
    );
  return all as unknown as Event[];
}

function isEvent([verb = "", ...words]: readonly string[]): boolean {
  const kind: Kind | undefined = VERBS.includes(verb as Verb) ? KINDS[verb as Verb] : undefined;
  return kind?.words.length === words.length && kind.words.every((allowed, i) => allowed.includes(words[i] ?? ""));
}

const USAGE = VERBS.map((verb) =>
  [verb, ...(KINDS[verb] as Kind).words.map((allowed) => allowed.join("|"))].join(" "),
).join("; ");
