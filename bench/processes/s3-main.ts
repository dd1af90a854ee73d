/**
 * A real S3 server as a process of its own. It takes its directory as an argument, says where it listens, and goes away
 * and comes back when it is told.
 */
import { S3Server } from "../../tests/support/valkey/s3-server";

async function serve(directory: string): Promise<void> {
  const server = await S3Server.start(directory);
  process.on("message", (word) => {
    void (word === "away" ? server.goAway() : server.comeBack()).then(() => process.send?.("done"));
  });
  // The process that measures may have been killed.
  process.on("disconnect", () => process.exit());
  process.send?.(server.endpoint);
}

void serve(process.argv[2] ?? "");
