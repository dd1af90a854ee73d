/** What every way of moving slots works with. */
import type { Deployment } from "../deployment";
import type { Report } from "../../lib/progress";
import type { Awaiting } from "../formation/awaiting";
import type { Member } from "../formation/members";

/** What moving needs to know of its surroundings. */
export interface Moving {
  readonly deployment: Deployment;
  readonly member: (name: string) => Member;
  readonly awaiting: Awaiting;
  readonly signal?: AbortSignal | undefined;
  readonly report?: Report | undefined;
}
