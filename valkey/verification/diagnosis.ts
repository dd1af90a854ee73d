/** Why a verdict is FAIL, what this means for clients, and what a person types next. Pure. */
import { type Assertion, type AssertionId, judgeAssertion, rowOf } from "./assertions";
import { describeService } from "./clients-served";
import { type DeploymentFacts, isInPods } from "./facts";
import { factsIfAllReplied, isSilent } from "./if-all-replied";
import { shardsOf } from "./shards";
import { KEYS_UNKNOWN } from "./kept-data";
import { describeSilence } from "./silence";

export interface Diagnosis {
  readonly causes: readonly string[];
  /** Whether clients are served, and who takes over. */
  readonly clients: readonly string[];
  readonly next: readonly string[];
  /** Assertions that would hold if the silent nodes replied. */
  readonly follows: ReadonlySet<AssertionId>;
}

export function diagnose(facts: DeploymentFacts, assertions: readonly Assertion[]): Diagnosis {
  const failing = assertions.filter(({ pass }) => !pass);
  const follows = followingAssertions(facts, assertions);
  const own = failing.filter(({ id }) => !follows.has(id));
  const isSilence = facts.nodes.some(isSilent);
  // If nothing else could be judged, nobody knows what clients get.
  const service = assertions.length > 2 ? describeService(facts) : undefined;
  return {
    causes: first(
      own.flatMap(({ id, found }) => (id === "reachable" && isSilence ? describeSilence(facts) : [`${found} [${id}]`])),
    ),
    clients: first(service?.clients ?? ["It is unknown whether clients are served."]),
    next: first([...own.map((each) => nextOf(facts, each)), ...(service?.next ?? [])]),
    follows,
  };
}

const MAX_TEXTS = 8;

function first(texts: readonly string[]): string[] {
  const rest = texts.length - MAX_TEXTS;
  return rest > 0 ? [...texts.slice(0, MAX_TEXTS), `and ${rest} more`] : [...texts];
}

/** IDs of failing assertions that would hold if the silent nodes replied. */
export function followingAssertions(facts: DeploymentFacts, assertions: readonly Assertion[]): Set<AssertionId> {
  const silent = new Set(facts.nodes.filter(isSilent).map(({ node }) => node.name));
  if (silent.size === 0) return new Set();
  const replied = factsIfAllReplied(facts);
  const judged = { ...replied, shards: shardsOf(replied) };
  // The row `data-kept` compares with a mark, which is not at hand here.
  const isConsequence = ({ id, found }: Assertion): boolean =>
    id === "data-kept"
      ? found === KEYS_UNKNOWN
      : judgeAssertion(id, judged).every(
          ({ pass, nodes }) => pass || (nodes.length > 0 && nodes.every((name) => silent.has(name))),
        );
  const candidates = assertions.filter(({ id, pass }) => !pass && id !== "reachable");
  return new Set(candidates.filter(isConsequence).map(({ id }) => id));
}

function nextOf(facts: DeploymentFacts, { id, nodes }: Assertion): string {
  const row = rowOf(id);
  const text = (isInPods(facts) ? row?.next.own : row?.next.others) ?? "";
  const replying = facts.nodes.filter((each) => !isSilent(each));
  const named = [...replying, ...facts.nodes, ...(facts.sentinels?.nodes ?? [])].map(({ node }) => node);
  const node = nodes.length === 0 ? named[0] : named.find(({ name }) => nodes.includes(name));
  if (node === undefined) return text;
  const { host, port } = node.endpoint;
  const filled = text
    .replaceAll("-h HOST -p PORT", `-h ${host} -p ${port}`)
    .replaceAll(/(?<=--cluster \w+ )HOST:PORT/g, `${host}:${port}`)
    .replaceAll(/\bNODE\b/g, node.name);
  return `${filled} [${id}]`;
}
