/**
 * The recorder of the fake AWS in front of Karpenter: every call that the controller makes.
 *
 *     AwsRecorder.enable();                        // before the fake AWS starts, so that no call is missed
 *     const karpenter = await Karpenter.start(…);
 *     const calls = await new AwsRecorder().calls();
 */
import type { RecordedCall } from "../aws/recorded-calls";
import { recordedCalls } from "../aws/recorded-calls";

const ENDPOINT = "http://127.0.0.1:5555";

export class AwsRecorder {
  /** The fake AWS adds to the recording of earlier runs. */
  readonly #since = Date.now();

  /** Has a fake AWS that is started by this process record from its beginning. */
  static enable(): void {
    process.env["MOTO_ENABLE_RECORDING"] = "true";
  }

  /** @param endpoint of the fake AWS */
  constructor(private readonly endpoint = ENDPOINT) {}

  async start(): Promise<void> {
    await this.#ask("POST", "start-recording");
  }

  async stop(): Promise<void> {
    await this.#ask("POST", "stop-recording");
  }

  /** Calls of the controller since this recorder was made, in order. */
  async calls(): Promise<RecordedCall[]> {
    const calls = recordedCalls(await this.#ask("GET", "download-recording"));
    return calls.filter(({ sentMs }) => sentMs >= this.#since - 1000);
  }

  async #ask(method: string, what: string): Promise<string> {
    const response = await fetch(`${this.endpoint}/moto-api/recorder/${what}`, { method });
    if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
    return response.text();
  }
}
