import { describe, expect, it } from "vitest";
import { ViewParser, ViewSyntaxError } from "../../../valkey/topology/cluster-view";
import { countSlots, SLOT_COUNT } from "../../../valkey/topology/slots";
import { fixture, fixtures } from "../../support/fixtures";
import { expectReviewed } from "../../support/reviewed";

const parse = (name: string): ReturnType<ViewParser["parse"]> =>
  new ViewParser().parse(fixture(`cluster-nodes-${name}`));

describe.each(["8.0", "9.1"])("CLUSTER NODES of Valkey %s", (version) => {
  it("of a formed cluster: three primaries with all slots, three replicas, all healthy", () => {
    const view = parse(`${version}-formed`);
    const nodes = [...view.topology.nodes.values()];
    const primaries = nodes.filter((node) => node.role === "primary");
    expect(nodes).toHaveLength(6);
    expect(countSlots(primaries.flatMap((node) => node.slots))).toBe(SLOT_COUNT);
    expect(new Set(nodes.flatMap((node) => node.primaryId ?? []))).toEqual(new Set(primaries.map((node) => node.id)));
    expect(view.topology.nodes.has(view.selfId)).toBe(true);
    expect([view.unhealthy, view.unlinked, view.openSlots]).toEqual([[], [], []]);
  });
});

describe("CLUSTER NODES", () => {
  it("is read of nodes that are new, slow, gone, alone or moving slots", async () => {
    const found = fixtures("cluster-nodes-").map((name) => {
      const { selfId, topology, ...view } = new ViewParser().parse(fixture(name));
      const nodes = [...topology.nodes.values()].map(({ id, address, role }) => [id, role, address]);
      const { unhealthy, unlinked, openSlots } = view;
      return [name.replace("cluster-nodes-", ""), { self: selfId, nodes, unhealthy, unlinked, openSlots }] as const;
    });
    expect(found.length).toBeGreaterThanOrEqual(18);
    await expectReviewed("valkey/cluster-nodes", "What is read from CLUSTER NODES of real servers.", found);
    for (const version of ["8.0", "9.1"])
      expect(parse(`${version}-migrating`).topology.fingerprint).toBe(
        parse(`${version}-importing`).topology.fingerprint,
      );
  });
});

describe("ViewParser", () => {
  it("keeps equal topologies once, whatever the order, the times and the health of the lines", () => {
    const parser = new ViewParser();
    const text = fixture("cluster-nodes-9.1-formed");
    const first = parser.parse(text);
    const second = parser.parse(
      text
        .trim()
        .split("\n")
        .reverse()
        .join("\n")
        .replaceAll(/ 0 \d+ /g, " 5 9 "),
    );
    expect(second.topology).toBe(first.topology);
    expect(second.addresses).toBe(first.addresses);
    const moved = parser.parse(text.replace(/ 127\.0\.0\.1:\d+@/, " 127.0.0.1:1@"));
    expect(moved.topology).toBe(first.topology);
    expect([...moved.addresses.values()].filter(({ port }) => port === 1)).toHaveLength(1);
  });

  it("distinguishes topologies by epoch, role and slots", () => {
    const text = fixture("cluster-nodes-9.1-formed");
    const fingerprint = (each: string): string => new ViewParser().parse(each).topology.fingerprint;
    const variants = [
      text,
      text.replace(" 6 connected 10922", " 7 connected 10922"),
      text.replace("0-5460", "0-5459"),
      text.replace(/slave [0-9a-f]{40}/, "master -"),
    ];
    expect(new Set(variants.map(fingerprint)).size).toBe(variants.length);
  });

  it.each([
    ["", /no line has the flag myself/],
    ["hello", /fewer than 8 fields/],
    [fixture("cluster-nodes-9.1-formed").replaceAll("myself,", ""), /no line has the flag myself/],
    [fixture("cluster-nodes-9.1-formed").replace(" connected ", " linked "), /link state is unknown/],
    [fixture("cluster-nodes-9.1-formed").replace("0-5460", "0-54600"), /not a slot range/],
    [fixture("cluster-nodes-9.1-migrating").replace("[42->-", "[42=>-"), /mark of a slot has an unknown format/],
  ])("rejects text in another format: %#", (text, message) => {
    expect(() => new ViewParser().parse(text)).toThrow(message);
  });

  it("throws a ViewSyntaxError", () => {
    expect(() => new ViewParser().parse("x y z - 0 0 1 connected")).toThrow(ViewSyntaxError);
  });
});
