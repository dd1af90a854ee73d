/** Fetches the servers' programs once, before test files that need them begin at the same time and each fetch their own. */
import { olderPrograms, realPrograms } from "../support/valkey/real";

export default async function fetchPrograms(): Promise<void> {
  // Tests without them say so themselves.
  await Promise.allSettled([realPrograms(), olderPrograms()]);
}
