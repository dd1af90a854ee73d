/** The recorder of the fake AWS in front of Karpenter: every call that the controller makes. */
import { type RecordedCall, recordedCalls } from "../aws/recorded-calls";

const ENDPOINT = "http://127.0.0.1:5555";

export class AwsRecorder {
  /** The fake AWS adds to the recording of earlier runs. */
  readonly #since = Date.now();

  private constructor() {}

  static async start(): Promise<AwsRecorder> {
    const recorder = new AwsRecorder();
    await recorder.#ask("POST", "start-recording");
    return recorder;
  }

  async calls(): Promise<RecordedCall[]> {
    const calls = recordedCalls(await this.#ask("GET", "download-recording"));
    return calls.filter(({ sentMs }) => sentMs >= this.#since - 1000);
  }

  async #ask(method: string, what: string): Promise<string> {
    const response = await fetch(`${ENDPOINT}/moto-api/recorder/${what}`, { method });
    if (!response.ok) throw new Error(`${what}: ${response.status} ${await response.text()}`);
    return response.text();
  }
}
