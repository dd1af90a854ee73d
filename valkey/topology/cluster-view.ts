/** One node's view of its cluster: CLUSTER NODES as data. Pure; fixtures of real output are in tests/fixtures. */
import { createHash } from "node:crypto";
import type { SlotRange } from "./slots";
import { formatRanges, normaliseRanges, parseRange } from "./slots";

export type Role = "primary" | "replica";

/** What every view should say the same of a node. */
export interface KnownNode {
  readonly id: string;
  readonly role: Role;
  /** The id of the primary a replica follows. */
  readonly primaryId: string | undefined;
  readonly epoch: number;
  readonly slots: readonly SlotRange[];
  /** As one view has it; empty host when that view has no address. */
  readonly address: { readonly host: string; readonly port: number; readonly hostname: string | undefined };
}

/** Membership, roles, slots and epochs; equal fingerprints mean equal topologies. */
export interface Topology {
  readonly fingerprint: string;
  readonly nodes: ReadonlyMap<string, KnownNode>;
}

/** Why a view does not count a node as healthy: suspected (`fail?`), failed, still shaking hands, or without address. */
export type FailureFlag = "suspected" | "failed" | "handshake" | "no-address";

/** A slot that the viewing node is handing over or taking over. */
export interface OpenSlot {
  readonly slot: number;
  readonly direction: "migrating" | "importing";
  readonly peerId: string;
}

export interface ClusterView {
  readonly selfId: string;
  readonly topology: Topology;
  readonly unhealthy: readonly { readonly id: string; readonly trouble: FailureFlag }[];
  /** Ids of nodes this node has no working bus link to. */
  readonly unlinked: readonly string[];
  readonly openSlots: readonly OpenSlot[];
}

/** Output that is not CLUSTER NODES as Valkey 7 to 9 print it. */
export class ViewSyntaxError extends Error {
  constructor(line: string, reason: string) {
    super(`CLUSTER NODES: ${reason}: ${line}`);
    this.name = "ViewSyntaxError";
  }
}

/**
 * Parses views and shares what they agree on: thousands of nodes have thousands of views of thousands of
 * lines, nearly always of one and the same topology, which is kept once.
 */
export class ViewParser {
  readonly #topologies = new Map<string, Topology>();

  /** @throws ViewSyntaxError on a line that is not understood, or when no line is the node's own. */
  parse(text: string): ClusterView {
    const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parseLine(line.trim())]));
    const self = lines.find((line) => line.flags.has("myself"));
    if (self === undefined) throw new ViewSyntaxError(text.slice(0, 200), "no line is flagged myself");
    return {
      selfId: self.id,
      topology: this.#share(lines),
      unhealthy: lines.flatMap(({ id, flags }) => troublesOf(flags).map((trouble) => ({ id, trouble }))),
      unlinked: lines.filter((line) => line !== self && !line.connected).map((line) => line.id),
      openSlots: self.words.flatMap(parseMove),
    };
  }

  #share(lines: readonly Line[]): Topology {
    const sorted = [...lines].sort((a, b) => (a.id < b.id ? -1 : 1));
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
}

interface Line {
  readonly id: string;
  readonly addressText: string;
  readonly flags: ReadonlySet<string>;
  readonly primaryId: string | undefined;
  readonly epoch: number;
  readonly connected: boolean;
  /** Slot ranges and moves as printed. */
  readonly words: readonly string[];
  /** Slot ranges only, as printed, which is ascending. */
  readonly slotText: string;
}

/** `id ip:port@bus[,hostname[,key=value…]] flags primary ping-sent pong-received epoch link-state [slot…]` */
function parseLine(line: string): Line {
  const [id, addressText, flagText, primary, , , epoch, link, ...words] = line.split(" ");
  if (id === undefined || addressText === undefined || flagText === undefined || primary === undefined) {
    throw new ViewSyntaxError(line, "fewer than 8 fields");
  }
  if (!/^[0-9a-f]{40}$/.test(id)) throw new ViewSyntaxError(line, "the first field is no node id");
  if (link !== "connected" && link !== "disconnected") throw new ViewSyntaxError(line, "the link state is unknown");
  if (epoch === undefined || !/^\d+$/.test(epoch)) throw new ViewSyntaxError(line, "the epoch is no number");
  return {
    id,
    addressText,
    flags: new Set(flagText.split(",")),
    primaryId: primary === "-" ? undefined : primary,
    epoch: Number(epoch),
    connected: link === "connected",
    words,
    slotText: words.filter((word) => !word.startsWith("[")).join(" "),
  };
}

function knownNode(line: Line): KnownNode {
  const slots = line.slotText === "" ? [] : line.slotText.split(" ").map(parseRange);
  return {
    id: line.id,
    // A node in handshake has no role yet; it counts as what it will be until told otherwise.
    role: line.flags.has("slave") || line.flags.has("replica") ? "replica" : "primary",
    primaryId: line.primaryId,
    epoch: line.epoch,
    slots: normaliseRanges(slots),
    address: parseAddress(line.addressText),
  };
}

/** `10.0.0.1:6379@16379,host.name,shard-id=…`; `:0@0` where the view has no address; IPv6 hosts are not bracketed. */
function parseAddress(text: string): KnownNode["address"] {
  const [endpoint = "", hostname = ""] = text.split(",");
  const match = /^(.*):(\d+)(?:@(\d+))?$/.exec(endpoint);
  if (match === null) throw new ViewSyntaxError(text, "the address is not understood");
  return { host: match[1] ?? "", port: Number(match[2]), hostname: hostname === "" ? undefined : hostname };
}

function troublesOf(flags: ReadonlySet<string>): FailureFlag[] {
  const troubles: FailureFlag[] = [];
  if (flags.has("fail")) troubles.push("failed");
  if (flags.has("fail?")) troubles.push("suspected");
  if (flags.has("handshake")) troubles.push("handshake");
  if (flags.has("noaddr")) troubles.push("no-address");
  return troubles;
}

/** `[93->-id]` hands slot 93 over to id, `[93-<-id]` takes it over from id. */
function parseMove(word: string): OpenSlot[] {
  if (!word.startsWith("[")) return [];
  const match = /^\[(\d+)-([<>])-([0-9a-f]{40})\]$/.exec(word);
  if (match === null) throw new ViewSyntaxError(word, "the slot's move is not understood");
  return [{ slot: Number(match[1]), direction: match[2] === ">" ? "migrating" : "importing", peerId: match[3] ?? "" }];
}

/** One line for messages: `id primary 0-5460`. */
export function describeKnownNode(node: KnownNode): string {
  const role = node.primaryId === undefined ? node.role : `replica of ${node.primaryId.slice(0, 8)}`;
  return `${node.id.slice(0, 8)} ${role}, slots ${formatRanges(node.slots)}, epoch ${node.epoch}`;
}
