/** Real Sentinels for tests. */
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";

/**
 * Has Sentinels ask servers twice a second rather than every 10 s, tell each other of themselves twice a second, and fail
 * over again soon after the machine was too busy for them (TILT, 30 s).
 */
export async function hastenSentinels({ sentinels, access }: Deployment): Promise<void> {
  const periods = ["info-period", "500", "publish-period", "500", "tilt-period", "3000"] as const;
  await Promise.all(
    (sentinels?.nodes ?? []).map(async ({ name, endpoint }) => {
      const connection = await connect(name, endpoint, access);
      await connection.call("SENTINEL", "DEBUG", ...periods);
      connection.disconnect();
    }),
  );
}
