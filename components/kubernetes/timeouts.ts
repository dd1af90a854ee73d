/** How long Pulumi waits for pods. Pure. */
import type { ServerArgs } from "./arguments";

/** Handing over, ending, starting, catching up, being found ready. */
export const SECONDS_PER_RESTART = 60;

export function startSeconds({ startSeconds: asked }: ServerArgs): number {
  return asked ?? 600;
}

/** As `customTimeouts` has it. */
export function seconds(number: number): string {
  return `${number}s`;
}
