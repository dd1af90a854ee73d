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
 * A resize stores no progress. Every state reads from the nodes what has to be done, and doing it twice does no harm.
 * To continue an interrupted resize, call `resizeCluster` again, for the same or a different shape. The states repair
 * the effects of interruptions and failures:
 *
 * - members that came back without their data, under different node IDs: `forgetLost` makes the others forget the old
 *   IDs;
 * - directives that a resize changes for its duration: `restoreLeftoverSettings`, before the resize;
 * - nodes that some members have met and others have not met yet: `inspect` waits for gossip;
 * - nodes that some members have forgotten and others have not: `resetHalfJoined` resets them to new node IDs;
 * - members that disagree on roles, slots or epochs, and replicas that are behind: `agree` waits for them;
 * - an atomic slot migration, which the servers continue: `awaitMigrations` waits for its end;
 * - slots marked MIGRATING or IMPORTING, with keys on both sides: `finishOpenMigrations` completes or cancels them;
 * - keys of migrated slots, which their former owner deletes a moment later: `awaitDeletedKeys` waits for that;
 * - a plan that was carried out only in part: `plan` plans the rest.
 */
export const RESIZE_TRANSITIONS = {
  /** Reads every node. Throws if a change could lose keys, or damage a cluster that others use. */
  inspect: ["forgetLost", "resetHalfJoined", "agree"],
  /** Makes the members forget the node IDs of members that have lost their data. */
  forgetLost: ["inspect"],
  /** Makes the members forget nodes that only some members know, and resets those nodes. */
  resetHalfJoined: ["agree"],
  /** Waits until all participants see the same healthy cluster, and all replication links are up. */
  agree: ["awaitMigrations"],
  /** Waits for atomic slot migrations that are in progress. */
  awaitMigrations: ["finishOpenMigrations"],
  /** Ends slot migrations that SETSLOT began. */
  finishOpenMigrations: ["awaitDeletedKeys"],
  /** Waits until nodes without slots have no keys. */
  awaitDeletedKeys: ["plan"],
  /**
   * Compares the cluster with the wanted shape and with an even spread of primaries over zones. Throws if the remaining
   * primaries lack memory, or after too many plans.
   */
  plan: ["execute", "fitted"],
  /** Executes the plan (`ResizeExecutor.execute`) as far as the servers allow. */
  execute: ["inspect"],
} as const;

/** A state that has a handler. The final state `fitted` has no handler. */
export type ResizeState = keyof typeof RESIZE_TRANSITIONS;

/** Handlers of the states. The type allows only the transitions above. */
export type ResizeHandlers = {
  readonly [State in ResizeState]: () => Promise<(typeof RESIZE_TRANSITIONS)[State][number]>;
};
