import type { AssertionRow } from "./assertion-row";
import { clientsLed } from "./clients-led";
import { members, noMoves, noneFailing, oneOwner, slotsCovered, stateOk, viewsAgree } from "./cluster-verdict";
import { keptData } from "./kept-data";
import { TUNING_ASSERTIONS } from "./machine-tuning";
import { allOnline, evenSpread, oneDataSet, onePrimary, readOnly, replicaCount } from "./replication-verdict";
import { SENTINEL_ASSERTIONS } from "./sentinel-verdict";
import { primaryCount, replicaCountOfEach, replicaElsewhere, zonesApart } from "./shard-assertions";
import {
  desiredUsers,
  lagBounded,
  linksUp,
  notLoading,
  reachable,
  sameSettings,
  sameVersion,
  wrongMode,
  zonesKnown,
  zonesTold,
} from "./shared-assertions";
import type { JudgedFacts } from "./shards";
import { describeViolations } from "./violations";
import { writable } from "./write-trial";

const CLI = "valkey-cli -h HOST -p PORT";

/** All assertions by name, in the order of a verdict. The names never change, because tools depend on them. */
export const ASSERTIONS = {
  reachable: {
    ...{ what: "every node can be reached", expected: "all", judge: reachable },
    ...{ recovers: true, repair: "needed", part: true, lostShard: true },
    cause: "a node does not run, does not answer or refuses the password, or two names lead to one server",
    next: {
      own: "`kubectl describe pod NODE` and `kubectl logs NODE`, which say why the server does not answer",
      others: `start the server again; if it runs, \`${CLI} PING\` shows its reply: check \`VALKEY_PASSWORD\`, \`--tls\` and the network; name each server once`,
    },
  },
  mode: {
    ...{ what: "every server runs in the mode of the deployment", expected: "all", judge: wrongMode, repair: "needed" },
    cause:
      "servers of a cluster are verified as a replication, servers without cluster mode as a cluster, or a Sentinel as a server with data",
    next: {
      own: "set the mode that the message names in the stack file; a deployment keeps its mode, so give a new deployment a new name",
      others: `type the command again with the mode that the message names, or without the Sentinels; of a cluster, name every node that \`${CLI} CLUSTER NODES\` lists`,
    },
  },
  "not-loading": {
    ...{ what: "no node is loading its data", expected: "none", judge: notLoading },
    ...{ recovers: true, repair: "needed", part: true },
    cause: "a server has started, and reads its data from its disk or its primary",
    next: {
      own: "wait; `kubectl logs NODE` shows the progress",
      others: `wait; \`${CLI} INFO persistence\` shows the progress (\`loading_eta_seconds\`)`,
    },
  },
  writable: {
    ...{ what: "every primary accepts a write of a client, and returns what was written", expected: "all" },
    ...{ judge: writable, recovers: true },
    cause:
      "a primary refuses writes: a failed snapshot or append-only file, a full disk, full memory, paused clients, too few replicas, or a user without the right to write",
    next: {
      own: "correct the cause that the message names, such as too little `storage` or `maxmemory` in the stack file, then `pulumi up`",
      others: `correct the cause that the message names on the named server; \`${CLI} INFO persistence\`, \`INFO memory\` and \`INFO clients\` show snapshots, memory and pauses`,
    },
  },
  "state-ok": {
    ...{ what: "every node reports cluster_state ok", expected: "cluster_state ok", judge: stateOk, mode: "cluster" },
    ...{ recovers: true, repair: "heals", part: true, lostShard: true },
    cause: "the node sees slots that no running primary serves, or does not reach a majority of the primaries",
    next: {
      own: "bring back the pods that do not run (`kubectl get pods`); then `pulumi up` forms the cluster again",
      others: `start the nodes that \`${CLI} CLUSTER NODES\` marks with \`fail\``,
    },
  },
  "slots-covered": {
    ...{ what: "every node reports that all slots are assigned and ok", expected: "16384 assigned, 16384 ok" },
    ...{ judge: slotsCovered, mode: "cluster", recovers: true, repair: "heals", part: true, lostShard: true },
    cause: "a slot has no primary, or its primary has failed and no replica took over",
    next: {
      own: "`pulumi up`, which gives every slot a primary again",
      others:
        "`valkey-cli --cluster check HOST:PORT` names the slots; start their primary, or if it is off for good and has no replica, `valkey-cli --cluster fix HOST:PORT` gives the empty slots to others",
    },
  },
  "none-failing": {
    ...{ what: "no node reports another node as failing", expected: "none", judge: noneFailing, mode: "cluster" },
    ...{ recovers: true, repair: "heals" },
    cause: "a node does not run, or the network between two bus ports (port + 10000) is cut",
    next: {
      own: "`kubectl describe pod NODE`; if all pods run, look for a NetworkPolicy or a cut network between their machines",
      others: `let the named nodes reach each other's bus port (port + 10000); for a node that is gone for good, \`${CLI} CLUSTER FORGET ID\` on every node`,
    },
  },
  "views-agree": {
    ...{ what: "all nodes agree on node IDs, roles, slots and epochs", expected: "one view", judge: viewsAgree },
    ...{ mode: "cluster", recovers: true, repair: "heals" },
    cause: "a change of roles or slots has not reached every node yet, or the network between nodes is cut",
    next: {
      own: "wait some seconds; then `pulumi up`",
      others: "wait some seconds; then `valkey-cli --cluster check HOST:PORT` names what differs",
    },
  },
  members: {
    ...{ what: "the cluster has all nodes of the deployment, and no other nodes", expected: "all", judge: members },
    ...{ mode: "cluster", repair: "heals" },
    cause: "a node of the cluster is not named, a named node is not in the cluster, or a removed node is not forgotten",
    next: {
      own: "`pulumi up`, which lets every node meet the others and forget removed nodes",
      others: `name exactly the nodes that \`${CLI} CLUSTER NODES\` lists; for a node that is gone for good, \`CLUSTER FORGET ID\` on every node; for one that is missing, \`CLUSTER MEET HOST PORT\``,
    },
  },
  "one-owner": {
    ...{ what: "every slot has exactly one primary", expected: "16384 slots, each served once", judge: oneOwner },
    ...{ mode: "cluster", repair: "needed", part: true, lostShard: true },
    cause: "slots were never assigned, their primary does not run, or two nodes claim them after a migration",
    next: {
      own: "`pulumi up`, which gives every slot one primary again",
      others:
        "`valkey-cli --cluster check HOST:PORT` names the slots; start their primary, or `valkey-cli --cluster fix HOST:PORT`",
    },
  },
  "no-moves": {
    ...{ what: "no slot is being migrated", expected: "none", judge: noMoves, mode: "cluster" },
    ...{ repair: "heals-abandoned", part: true },
    cause:
      "slots have the marks MIGRATING or IMPORTING, or an atomic migration is in progress; with `NOPERM`, the user may not ask for atomic migrations",
    next: {
      own: "wait until the tool that migrates slots has finished; if no tool works, `pulumi up`",
      others: `wait until the tool that migrates slots has finished; if no tool works, \`${CLI} CLUSTER SETSLOT SLOT STABLE\` or \`CLUSTER CANCELSLOTMIGRATIONS\`; for \`NOPERM\`, give the user \`+cluster|getslotmigrations\``,
    },
  },
  primaries: {
    ...{ what: "the cluster has the expected number of primaries", expected: "3 or more", judge: primaryCount },
    ...{ mode: "cluster", repair: "heals", part: true },
    cause: "a primary does not run, has no slots yet, or the number is not the one that you gave",
    next: {
      own: "`pulumi up`, which gives every primary its slots",
      others:
        "correct `--primaries`; for a primary without slots, `valkey-cli --cluster rebalance HOST:PORT --cluster-use-empty-masters`",
    },
  },
  "one-primary": {
    ...{ what: "there is exactly one primary", expected: "1", judge: onePrimary, mode: "replication" },
    ...{ repair: "needed", part: true },
    cause: "the primary does not run and no replica took over, or a former primary came back as a primary",
    next: {
      own: "`kubectl get pods`; wait for the Sentinels, or `pulumi up`",
      others: `choose the server with the newest data (\`${CLI} INFO replication\`, \`master_repl_offset\`): \`REPLICAOF NO ONE\` on it, then \`REPLICAOF HOST PORT\` on each other server`,
    },
  },
  replicas: {
    ...{ what: "every primary has the expected number of replicas", expected: "all" },
    judge: (facts) => (facts.mode === "cluster" ? replicaCountOfEach(facts) : replicaCount(facts)),
    ...{ recovers: true, repair: "heals" },
    cause: "a replica does not run or follows a replica, or the number is not the one that you gave",
    next: {
      own: "`pulumi up`, which lets every replica follow its primary",
      others:
        "correct `--replicas`, or let a server follow the primary: in this server, `CLUSTER REPLICATE ID` with the ID of the primary, or without cluster mode `REPLICAOF HOST PORT`",
    },
  },
  "one-data-set": {
    ...{ what: "every replica has the data set of the primary", expected: "one replication ID", judge: oneDataSet },
    ...{ mode: "replication", recovers: true, repair: "heals", part: true },
    cause: "a replica follows a different server, or has not finished its first copy",
    next: {
      own: "wait for the copy; then `pulumi up`",
      others: `wait for the copy; if the server follows a different one, \`${CLI} REPLICAOF HOST PORT\` with the address of the primary`,
    },
  },
  "all-online": {
    ...{ what: "the primary counts every replica as online", expected: "all", judge: allOnline, mode: "replication" },
    ...{ recovers: true, repair: "heals", part: true },
    cause: "a replica copies the data, has lost its connection, or follows a replica instead of the primary",
    next: {
      own: "wait for the copy; then `pulumi up`",
      others: `\`${CLI} INFO replication\` shows the state of each replica; wait for the copy, or let the missing one follow: \`REPLICAOF HOST PORT\``,
    },
  },
  "links-up": {
    ...{ what: "every replica's link to its primary is up", expected: "all", judge: linksUp },
    ...{ recovers: true, repair: "heals", part: true },
    cause: "the replica copies its data, does not reach its primary, or has the wrong password for it (`primaryauth`)",
    next: {
      own: "wait for the copy; `kubectl logs NODE` says why it does not connect",
      others: `wait for the copy; the log of the server and \`${CLI} INFO replication\` say why it does not connect; check \`primaryauth\`, \`repl-timeout\` and the network`,
    },
  },
  "lag-bounded": {
    ...{ what: "every replica keeps up with its primary", expected: "all", judge: lagBounded },
    ...{ recovers: true, repair: "needed", part: true },
    cause: "the replica, its machine or the network is overloaded, or the link was just made",
    next: {
      own: "wait; if the lag stays, give the pods more CPU in the stack file, then `pulumi up`",
      others: `wait; if the lag stays, reduce the load; \`${CLI} INFO replication\` shows the offsets`,
    },
  },
  "read-only": {
    ...{ what: "every replica refuses writes", expected: "all", judge: readOnly, mode: "replication" },
    cause: "`replica-read-only` is no, so clients can write data that the primary does not have",
    next: { own: "`pulumi up --refresh`", others: `\`${CLI} CONFIG SET replica-read-only yes\`` },
  },
  "zones-known": {
    ...{ what: "the zone of every node is known", expected: "all", judge: zonesKnown, group: "zones" },
    cause: "you did not name the zone of a node, and the node does not report its zone",
    next: {
      own: "label the machine with `topology.kubernetes.io/zone`, then `pulumi up --refresh`",
      others: "name the zone: `--node HOST:PORT=ZONE`; or skip zones: `--without zones`",
    },
  },
  "even-spread": {
    ...{ what: "nodes are spread over zones as evenly as possible", judge: evenSpread, mode: "replication" },
    expected: "at least two zones, and in each zone the same number of nodes or one more",
    ...{ group: "zones", repair: "heals" },
    cause: "a zone had no machine for a node, so several nodes share a zone",
    next: {
      own: "add machines in the zone with fewer nodes, then `pulumi up`",
      others:
        "start a replica in the zone with fewer nodes, and stop one in the other; or skip zones: `--without zones`",
    },
  },
  "replica-elsewhere": {
    ...{ what: "every primary has a replica in a different zone", expected: "each", judge: replicaElsewhere },
    ...{ mode: "cluster", group: "zones", repair: "heals", handOver: true },
    cause: "the primary has no replica, or all its replicas are in its own zone",
    next: {
      own: "add replicas or zones in the stack file, then `pulumi up`",
      others: "in a server of a different zone: `CLUSTER REPLICATE ID` with the ID of the primary",
    },
  },
  "zones-apart": {
    ...{ what: "no replica is in the zone of its primary", expected: "none", judge: zonesApart, mode: "cluster" },
    ...{ group: "zones", repair: "heals", handOver: true },
    cause: "a replica took over, and the former primary came back as a replica of a primary in its own zone",
    next: {
      own: "`pulumi up`, which hands primaries over",
      others:
        "in a replica whose zone has no other node of the shard: `CLUSTER FAILOVER`; or let the replica follow a different primary: `CLUSTER REPLICATE ID`",
    },
  },
  "zones-told": {
    ...{ what: "every server tells clients the zone of its machine, or no zone", judge: zonesTold },
    ...{ expected: "the right zone or none", group: "zones" },
    cause: "somebody changed `availability-zone` on the server, or the zone label of its machine has changed",
    next: {
      own: "`pulumi up --refresh`, which sets the right zones on the servers",
      others: `\`${CLI} CONFIG SET availability-zone ZONE\``,
    },
  },
  "same-version": {
    ...{ what: "every node runs the same version", expected: "one version", judge: sameVersion },
    cause: "an upgrade was interrupted",
    next: {
      own: "`pulumi up`, which completes the upgrade",
      others: "restart the named servers with the version of the rest, replicas first",
    },
  },
  "same-settings": {
    ...{ what: "the compared settings are the same on every node, and as configured", expected: "the same" },
    ...{ judge: sameSettings, group: "settings", repair: "heals-settings" },
    cause: "somebody changed a setting by CONFIG SET or in a file, or the service forbids CONFIG",
    next: {
      own: "`pulumi up --refresh`, which sets the configured values",
      others: `\`${CLI} CONFIG SET NAME VALUE\`, then \`CONFIG REWRITE\`; for services that forbid CONFIG, \`--without settings\``,
    },
  },
  users: {
    ...{ what: "every node has the same users with the same rules, as configured", expected: "the same" },
    judge: desiredUsers,
    cause: "somebody made, changed or deleted a user by hand, on one server only: servers do not replicate users",
    next: {
      own: "`pulumi up --refresh`, which sets the configured users; a user that you made by hand needs an entry under `users` in the stack file",
      others: `\`${CLI} ACL LIST\` on each server, then \`ACL SETUSER\` or \`ACL DELUSER\` on those that differ`,
    },
  },
  ...TUNING_ASSERTIONS,
  ...SENTINEL_ASSERTIONS,
  "clients-led": {
    what: "every Service and every announced endpoint leads clients to the right nodes, and to no other server",
    ...{ expected: "all", judge: clientsLed, recovers: true },
    cause:
      "a Service leads to no pod, to a wrong node, or to proxies that refuse clients; or a node or Sentinel announces an address, host name or port at which clients do not find it, tried from where the verification runs",
    next: {
      own: "`kubectl get endpointslices` and the pods of the Service: image, password and certificate",
      others: `\`${CLI} CONFIG GET "*-announce-*"\` and \`cluster-preferred-endpoint-type\`, on a Sentinel \`SENTINEL CONFIG GET "announce-*"\`: correct what the message names; a replica announces a new value when it connects to its primary again (\`CLIENT KILL TYPE master\`); if clients connect from a different network, run \`verify\` there`,
    },
  },
  "data-kept": {
    ...{ what: "no data has vanished since the last verification", expected: "all", judge: keptData },
    cause:
      "servers started without the data or with an older copy, or keys are gone that no server has counted as deleted, expired or evicted. If servers have restarted since, the message says that the cause is unknown",
    next: {
      own: "restore a backup; or `pulumi up`, which accepts the data that the servers have now",
      others: "restore a backup; the next verification accepts the data that the servers have now",
    },
  },
} as const satisfies Readonly<Record<string, AssertionRow>>;

/** The name of an assertion. */
export type AssertionId = keyof typeof ASSERTIONS;

export const ASSERTION_IDS = Object.keys(ASSERTIONS) as AssertionId[];

/** Undefined for an assertion of a different version of this project. */
export function rowOf(id: string): AssertionRow | undefined {
  return Object.hasOwn(ASSERTIONS, id) ? ASSERTIONS[id as AssertionId] : undefined;
}

/** One assertion of a verdict, with its result. */
export interface Assertion {
  readonly id: AssertionId;
  /** The assertion as a sentence. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
  readonly pass: boolean;
  /** Names of the nodes that violate the assertion. */
  readonly nodes: readonly string[];
}

/** The list is empty if the deployment does not need the assertion, or if the user skips it. */
export function judgeAssertion(id: AssertionId, facts: JudgedFacts): Assertion[] {
  const row: AssertionRow = ASSERTIONS[id];
  const isSkipped = row.group !== undefined && facts.skippedAssertions.includes(row.group);
  const found = isSkipped || (row.mode ?? facts.mode) !== facts.mode ? undefined : row.judge(facts);
  if (found === undefined) return [];
  const judgement = "violations" in found ? found : { violations: found };
  const { violations, expected = row.expected } = judgement;
  const pass = violations.length === 0;
  const nodes = [...new Set(violations.map(({ node }) => node))].filter((name) => name !== "");
  const text = pass ? (judgement.found ?? expected) : describeViolations(violations);
  return [{ id, what: row.what, expected, found: text, pass, nodes }];
}
