/**
 * A real S3 server as a process of its own. It takes its directory as an argument, says where it listens, and goes away
 * and comes back when it is told.
 */
import { S3Server } from "../../support/valkey/s3-server";

async function serve(directory: string): Promise<void> {
  const server = await S3Server.start(directory);
  const say = (message: string): void => void process.send?.(message);
  process.on("message", (word) => {
    if (word === "refuse" || word === "accept") {
      server.refusal = word === "refuse" ? "InternalError" : undefined;
      say("done");
      return;
    }
    void (word === "away" ? server.goAway() : server.comeBack()).then(() => {
      say("done");
    });
  });
  // The process that measures may have been killed.
  process.on("disconnect", () => process.exit());
  say(server.endpoint);
}

void serve(process.argv[2] ?? "");
