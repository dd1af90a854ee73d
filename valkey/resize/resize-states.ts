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
 * A resize writes down nothing: every state reads from the nodes what has to be done, and doing it twice does no harm.
 * An interrupted resize is continued by calling `resizeCluster` again, for the same shape or for another one. The
 * states repair what the interruption left, and what failures did:
 *
 * - members that came back without their data, under other node IDs: `forgetLost` makes the others forget the old IDs;
 * - directives that a resize changes for its duration: `restoreLeftoverSettings`, before the resize;
 * - nodes that some members have met, and others have not yet: `inspect` waits for gossip;
 * - nodes that some members have forgotten, and others have not: `resetHalfJoined` resets them to new node IDs;
 * - members that disagree on roles, slots or epochs, and replicas that are behind: `agree` waits for them;
 * - an atomic slot migration, which the servers continue: `awaitMigrations` waits for its end;
 * - slots marked MIGRATING or IMPORTING, with keys on both sides: `finishOpenMigrations` completes or cancels them;
 * - keys of migrated slots, which their former owner deletes a moment later: `awaitDeletedKeys` waits for that;
 * - a plan carried out in part: `plan` plans what remains.
 */
export const RESIZE_TRANSITIONS = {
  /** Reads every node. Throws when a change could lose keys, or break a cluster that others use. */
  inspect: ["forgetLost", "resetHalfJoined", "agree"],
  /** Makes the members forget the node IDs of members that have lost their data. */
  forgetLost: ["inspect"],
  /** Makes the members forget nodes that only some of them know, and resets those nodes. */
  resetHalfJoined: ["agree"],
  /** Waits until all participants see the same healthy cluster and all replication links are up. */
  agree: ["awaitMigrations"],
  /** Waits for atomic slot migrations that are under way. */
  awaitMigrations: ["finishOpenMigrations"],
  /** Ends slot migrations that were begun by SETSLOT. */
  finishOpenMigrations: ["awaitDeletedKeys"],
  /** Waits until no node without slots holds keys. */
  awaitDeletedKeys: ["plan"],
  /**
   * Compares the cluster with the wanted shape and with an even spread of primaries over zones. Throws when the remaining primaries lack memory, or after too many
   * plans.
   */
  plan: ["execute", "fitted"],
  /** Carries out the plan (`ResizeExecutor.execute`), or as much of it as the servers allow. */
  execute: ["inspect"],
} as const;

/** A state in which something is done; `fitted`, the end, is not one of them. */
export type ResizeState = keyof typeof RESIZE_TRANSITIONS;

/** Step of each state. The type allows only the transitions above. */
export type ResizeHandlers = {
  readonly [State in ResizeState]: () => Promise<(typeof RESIZE_TRANSITIONS)[State][number]>;
};
