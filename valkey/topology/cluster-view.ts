/** One node's view of the cluster: CLUSTER NODES as data. Directory tests/fixtures contains real output. */
import { createHash } from "node:crypto";
import { type SlotRange, formatRanges, normaliseRanges, parseRange } from "./slots";

/** Role of a node. A primary serves slots, and a replica copies its primary. */
type Role = "primary" | "replica";

/** A node in a view of the cluster. The views of all nodes should agree on everything except the address. */
export interface KnownNode {
  readonly id: string;
  readonly role: Role;
  /** The node ID of a replica's primary. */
  readonly primaryId: string | undefined;
  readonly epoch: number;
  readonly slots: readonly SlotRange[];
  /** The address of the node in the first view with this topology. */
  readonly address: KnownAddress;
}

/** The address of a node in a view. The host is empty if the view has no address. */
export interface KnownAddress {
  readonly host: string;
  readonly port: number;
  readonly hostname: string | undefined;
}

/** Nodes of a cluster with their roles, slots and epochs. Equal fingerprints mean equal topologies. */
export interface Topology {
  readonly fingerprint: string;
  readonly nodes: ReadonlyMap<string, KnownNode>;
}

/** Reason why a view does not count a node as healthy: `fail?`, `fail`, `handshake` or `noaddr` in CLUSTER NODES. */
export type FailureFlag = "suspected" | "failed" | "handshake" | "no-address";

/** A slot that a node marks as MIGRATING or IMPORTING. */
export interface OpenSlot {
  readonly slot: number;
  readonly direction: "migrating" | "importing";
  readonly peerId: string;
}

/** One node's view of the cluster. */
export interface ClusterView {
  readonly selfId: string;
  readonly topology: Topology;
  /** The address of each node in this view, by node ID. Views with equal addresses share one map. */
  readonly addresses: ReadonlyMap<string, KnownAddress>;
  readonly unhealthy: readonly { readonly id: string; readonly flag: FailureFlag }[];
  /** Node IDs to which this node has no working bus link. */
  readonly unlinked: readonly string[];
  /** Times at which this node last heard from nodes that owe it an answer, by node ID, milliseconds since 1970. */
  readonly heardAt: ReadonlyMap<string, number>;
  readonly openSlots: readonly OpenSlot[];
}

/** Error for a text that does not have the format of CLUSTER NODES in Valkey 7 to 9. */
export class ViewSyntaxError extends Error {
  constructor(line: string, reason: string) {
    super(`CLUSTER NODES: ${reason}: ${line}`);
    this.name = "ViewSyntaxError";
  }
}

/** Stores equal topologies and addresses once: in a cluster of a thousand nodes, each view has a thousand lines. */
export class ViewParser {
  readonly #topologies = new Map<string, Topology>();
  readonly #addresses = new Map<string, ClusterView["addresses"]>();

  /** @throws ViewSyntaxError for a line in a different format, or if no line has the flag `myself` */
  parse(text: string): ClusterView {
    const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parseLine(line.trim())]));
    const self = lines.find((line) => line.flags.has("myself"));
    if (self === undefined) throw new ViewSyntaxError(text.slice(0, 200), "no line has the flag myself");
    const sorted = [...lines].sort((a, b) => (a.id < b.id ? -1 : 1));
    return {
      selfId: self.id,
      topology: this.#share(sorted),
      addresses: this.#shareAddresses(sorted),
      unhealthy: lines.flatMap(({ id, flags }) => failureFlagsOf(flags).map((flag) => ({ id, flag }))),
      unlinked: lines.filter((line) => line !== self && !line.connected).map((line) => line.id),
      heardAt: new Map(lines.flatMap(({ id, owes, heardAt }) => (owes && heardAt > 0 ? [[id, heardAt] as const] : []))),
      openSlots: self.words.flatMap(parseMark),
    };
  }

  #share(sorted: readonly Line[]): Topology {
    const agreed = sorted
      .map((line) => [line.id, line.primaryId ?? "-", line.epoch, line.slotText].join(" "))
      .join("\n");
    const fingerprint = createHash("sha256").update(agreed).digest("hex").slice(0, 16);
    const known = this.#topologies.get(fingerprint);
    if (known !== undefined) return known;
    const topology = { fingerprint, nodes: new Map(sorted.map((line) => [line.id, knownNode(line)])) };
    this.#topologies.set(fingerprint, topology);
    return topology;
  }

  #shareAddresses(sorted: readonly Line[]): ClusterView["addresses"] {
    const text = sorted.map(({ id, addressText }) => `${id} ${addressText}`).join("\n");
    const known = this.#addresses.get(text);
    if (known !== undefined) return known;
    const addresses = new Map(sorted.map(({ id, addressText }) => [id, parseAddress(addressText)]));
    this.#addresses.set(text, addresses);
    return addresses;
  }
}

interface Line {
  readonly id: string;
  readonly addressText: string;
  readonly flags: ReadonlySet<string>;
  readonly primaryId: string | undefined;
  readonly epoch: number;
  readonly connected: boolean;
  readonly owes: boolean;
  readonly heardAt: number;
  /** Slot ranges and marks, as the server prints them. */
  readonly words: readonly string[];
  /** Slot ranges without marks, as the server prints them, in ascending order. */
  readonly slotText: string;
}

/** `id ip:port@bus[,hostname[,key=value…]] flags primary ping-sent pong-received epoch link-state [slot…]` */
function parseLine(line: string): Line {
  const [id, addressText, flagText, primary, pingSent, pongReceived, epoch, link, ...words] = line.split(" ");
  if (id === undefined || addressText === undefined || flagText === undefined || primary === undefined) {
    throw new ViewSyntaxError(line, "fewer than 8 fields");
  }
  if (!/^[0-9a-f]{40}$/.test(id)) throw new ViewSyntaxError(line, "the first field is not a node ID");
  if (link !== "connected" && link !== "disconnected") throw new ViewSyntaxError(line, "the link state is unknown");
  if (epoch === undefined || !/^\d+$/.test(epoch)) throw new ViewSyntaxError(line, "the epoch is not a number");
  return {
    id,
    addressText,
    flags: new Set(flagText.split(",")),
    primaryId: primary === "-" ? undefined : primary,
    epoch: Number(epoch),
    connected: link === "connected",
    owes: pingSent !== "0" || link === "disconnected",
    heardAt: Number(pongReceived),
    words,
    slotText: words.filter((word) => !word.startsWith("[")).join(" "),
  };
}

function knownNode(line: Line): KnownNode {
  const slots = line.slotText === "" ? [] : line.slotText.split(" ").map(parseRange);
  return {
    id: line.id,
    // A node in handshake has no role yet. It counts as a primary until it follows a primary.
    role: line.flags.has("slave") || line.flags.has("replica") ? "replica" : "primary",
    primaryId: line.primaryId,
    epoch: line.epoch,
    slots: normaliseRanges(slots),
    address: parseAddress(line.addressText),
  };
}

/** Parses `10.0.0.1:6379@16379,host.name,shard-id=…`, or `:0@0` without an address. IPv6 hosts have no brackets. */
function parseAddress(text: string): KnownAddress {
  const [endpoint = "", hostname = ""] = text.split(",");
  const match = /^(.*):(\d+)(?:@(\d+))?$/.exec(endpoint);
  if (match === null) throw new ViewSyntaxError(text, "the address has an unknown format");
  return { host: match[1] ?? "", port: Number(match[2]), hostname: hostname === "" ? undefined : hostname };
}

const FAILURE_FLAGS: readonly (readonly [text: string, flag: FailureFlag])[] = [
  ["fail", "failed"],
  ["fail?", "suspected"],
  ["handshake", "handshake"],
  ["noaddr", "no-address"],
];

function failureFlagsOf(flags: ReadonlySet<string>): FailureFlag[] {
  return FAILURE_FLAGS.filter(([text]) => flags.has(text)).map(([, flag]) => flag);
}

/** `[93->-id]`: slot 93 moves to the node with this ID. `[93-<-id]`: it comes from there. */
function parseMark(word: string): OpenSlot[] {
  if (!word.startsWith("[")) return [];
  const match = /^\[(\d+)-([<>])-([0-9a-f]{40})\]$/.exec(word);
  if (match === null) throw new ViewSyntaxError(word, "the mark of a slot has an unknown format");
  return [{ slot: Number(match[1]), direction: match[2] === ">" ? "migrating" : "importing", peerId: match[3] ?? "" }];
}

/** A node on one line, for messages: `07c37dfe primary, slots 0-5460, epoch 1`. */
export function describeKnownNode(node: KnownNode): string {
  const role = node.primaryId === undefined ? node.role : `replica of ${node.primaryId.slice(0, 8)}`;
  return `${node.id.slice(0, 8)} ${role}, slots ${formatRanges(node.slots)}, epoch ${node.epoch}`;
}
