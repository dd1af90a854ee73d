/**
 * The state machine of a resize.
 *
 * ```
 * inspect ⇄ forgetLost
 * inspect ──► resetHalfJoined ──► agree ──► awaitMigrations ──► finishOpenMigrations ──► awaitDeletedKeys ──► plan
 *  ▲   │                            ▲                                                                        │  │
 *  │   └────────────────────────────┘                                                                        │  ▼
 *  └──────────────────────────────────── execute ◄───────────────────────────────────────────────────────────┘ fitted
 * ```
 *
 * A resize stores no progress. Every state finds its work by reading from the nodes, and repeated work does no harm.
 * To continue an interrupted resize, call `resizeCluster` again, for the same or a different shape. The states repair
 * the effects of interruptions and failures:
 *
 * - nodes that came back without their data and with new node IDs: `forgetLost` makes the cluster forget the old IDs;
 * - directives that a killed resize left changed: `restoreLeftoverSettings` restores them before the resize;
 * - nodes that only some nodes have met so far: `inspect` waits for gossip;
 * - nodes that only some nodes have forgotten: `resetHalfJoined` resets them, so that they get new node IDs;
 * - nodes that report different roles, slots or epochs, and replicas that are behind: `agree` waits for these nodes;
 * - an atomic slot migration that the servers continue: `awaitMigrations` waits for the end of the migration;
 * - slots that are marked MIGRATING or IMPORTING, with keys on both sides: `finishOpenMigrations` ends these
 *   migrations;
 * - keys of migrated slots that the former owner deletes a moment later: `awaitDeletedKeys` waits for the deletion;
 * - a plan that was executed only in part: `plan` plans the rest.
 */
export const RESIZE_TRANSITIONS = {
  /** Throws if a change could lose keys, or could damage a cluster that others use. */
  inspect: ["forgetLost", "resetHalfJoined", "agree"],
  forgetLost: ["inspect"],
  /** Resets the nodes that only some nodes of the cluster know, after the cluster has forgotten these nodes. */
  resetHalfJoined: ["agree"],
  agree: ["awaitMigrations"],
  awaitMigrations: ["finishOpenMigrations"],
  finishOpenMigrations: ["awaitDeletedKeys"],
  awaitDeletedKeys: ["plan"],
  /** Throws if the primaries that stay lack memory, or if too many plans were needed. */
  plan: ["execute", "fitted"],
  execute: ["inspect"],
} as const;

/** The final state `fitted` has no handler. */
export type ResizeState = keyof typeof RESIZE_TRANSITIONS;

export type ResizeHandlers = {
  readonly [State in ResizeState]: () => Promise<(typeof RESIZE_TRANSITIONS)[State][number]>;
};
