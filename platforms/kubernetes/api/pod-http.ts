import { request } from "node:http";
import { text } from "node:stream/consumers";
import { Failure } from "../../../lib/errors";
import type { KubernetesClient } from "./client";
import { type PodPort, openPortForward } from "./port-forward";

const ANSWER_MS = 10_000;

export async function getFromPod(kubernetes: KubernetesClient, target: PodPort, path: string): Promise<string> {
  const stream = await openPortForward(kubernetes, target);
  try {
    return await new Promise((resolve, reject) => {
      const asked = request(
        {
          path,
          headers: { host: "localhost", connection: "close" },
          createConnection: () => stream,
          signal: AbortSignal.timeout(ANSWER_MS),
        },
        (response) => {
          if (response.statusCode === 200) text(response).then(resolve, reject);
          else reject(new Failure(`${target.pod} answers GET ${path} with status ${response.statusCode ?? "?"}`));
        },
      );
      asked.on("error", reject).end();
    });
  } finally {
    stream.destroy();
  }
}
