import type { DeploymentFacts } from "./facts";
import { type JudgedFacts, selfOf } from "./shards";
import { type Judgement, type Violation, unobservedViolations } from "./violations";

/** If no number is configured, the cluster must have at least three primaries. */
export function primaryCount({ shards, ...facts }: JudgedFacts): Judgement {
  const { primaries: wanted } = facts.shape;
  const serving = shards.filter(({ primary, slots }) => primary !== undefined && slots.length > 0).length;
  const isRight = wanted === undefined ? serving >= 3 : serving === wanted;
  const withoutSlots = shards.flatMap(({ primary, slots }): Violation[] =>
    primary !== undefined && slots.length === 0 ? [{ node: primary, problem: "is a primary without slots" }] : [],
  );
  const wrong = isRight ? [] : [{ node: "", problem: serving === 1 ? "1 primary" : `${serving} primaries` }];
  return {
    violations: [...unobservedViews(facts), ...withoutSlots, ...wrong],
    expected: wanted === undefined ? "3 or more" : String(wanted),
    found: String(serving),
  };
}

/** Without a configured number, the same number for all primaries, at least one. */
export function replicaCountOfEach({ shards, ...facts }: JudgedFacts): Judgement {
  const { replicasPerPrimary } = facts.shape;
  const serving = shards.filter(({ slots }) => slots.length > 0);
  const inferred = Math.max(1, ...serving.map(({ replicas }) => replicas.length));
  const wanted = replicasPerPrimary ?? inferred;
  const wrong = serving
    .filter(({ replicas }) => replicas.length !== wanted)
    .map(({ primary, replicas }) => ({ node: primary ?? "", problem: `has ${replicas.length} replicas` }));
  const chained = chainedReplicas(facts);
  const astray = shards
    .filter(({ slots }) => slots.length === 0)
    .flatMap(({ replicas }) =>
      replicas.map((node) => ({ node, problem: chained.get(node) ?? "follows no primary that serves slots" })),
    );
  return {
    violations: [...unobservedViews(facts), ...wrong, ...astray],
    expected:
      replicasPerPrimary === undefined
        ? `the same number for each primary, at least 1 (here ${inferred})`
        : String(wanted),
    found: `${wanted} each`,
  };
}

function chainedReplicas({ nodes }: DeploymentFacts): Map<string, string> {
  const known = nodes.map((each) => ({ name: each.node.name, self: selfOf(each) }));
  const replicas = new Map(known.flatMap(({ name, self }) => (self?.primaryId === undefined ? [] : [[self.id, name]])));
  return new Map(
    known.flatMap(({ name, self }) => {
      const followed = replicas.get(self?.primaryId ?? "");
      return followed === undefined ? [] : [[name, `is a replica of ${followed}, which is a replica itself`]];
    }),
  );
}

export function replicaElsewhere({ shards, ...facts }: JudgedFacts): Judgement {
  if (facts.shape.replicasPerPrimary === 0) return { violations: [], found: "no replicas are configured" };
  const zoneOf = zoneLookup(facts);
  const isElsewhere = (replica: string, primary: string): boolean => {
    const [here, there] = [zoneOf(replica), zoneOf(primary)];
    return here !== undefined && there !== undefined && here !== there;
  };
  const violations = shards.flatMap(({ primary, replicas }): Violation[] => {
    if (primary === undefined || replicas.some((replica) => isElsewhere(replica, primary))) return [];
    return [{ node: primary, problem: "has no replica in a different zone" }];
  });
  return { violations: [...unobservedViews(facts), ...violations] };
}

export function zonesApart({ shards, ...facts }: JudgedFacts): Violation[] {
  const zoneOf = zoneLookup(facts);
  const problemOf = (replica: string, primary: string | undefined): string | undefined => {
    const zone = zoneOf(replica);
    if (zone === undefined) return "its zone is unknown";
    return primary !== undefined && zone === zoneOf(primary)
      ? `is in ${zone}, the zone of its primary ${primary}`
      : undefined;
  };
  const violations = shards.flatMap(({ primary, replicas }) =>
    replicas.flatMap((node): Violation[] => {
      const problem = problemOf(node, primary);
      return problem === undefined ? [] : [{ node, problem }];
    }),
  );
  return [...unobservedViews(facts), ...violations];
}

function unobservedViews({ nodes }: DeploymentFacts): Violation[] {
  return unobservedViolations(nodes, ({ view }) => view);
}

function zoneLookup({ nodes }: DeploymentFacts): (name: string) => string | undefined {
  const zones = new Map(nodes.map(({ node }) => [node.name, node.zone]));
  return (name) => zones.get(name);
}
