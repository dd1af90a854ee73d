import { once } from "node:events";
import { type Server, createServer } from "node:http";
import { Failure, messageOf } from "../errors";

export const METRICS_PATH = "/metrics";

interface ServedText {
  readonly status?: number;
  readonly type: string;
  readonly text: string;
}

type ServedTexts = Readonly<Record<string, () => ServedText | Promise<ServedText>>>;

export class TextServer {
  readonly #server: Server;

  private constructor(private readonly texts: ServedTexts) {
    this.#server = createServer((request, response) => {
      this.#answer(request.url ?? "").then(
        ({ status, type, text }) => response.writeHead(status, { "content-type": type }).end(text),
        () => response.writeHead(500).end(),
      );
    });
  }

  /** @param at without a host, every address of the machine. @throws Failure when the address cannot be used */
  static async open(at: { readonly host?: string; readonly port: number }, texts: ServedTexts): Promise<TextServer> {
    const opened = new TextServer(texts);
    try {
      opened.#server.listen(at);
      await once(opened.#server, "listening");
    } catch (error) {
      const { host, port } = at;
      const name = host?.includes(":") === true ? `[${host}]` : host;
      throw new Failure(`cannot listen on ${name === undefined ? "port " : `${name}:`}${port}: ${messageOf(error)}`);
    }
    return opened;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(path: string): Promise<Required<ServedText>> {
    const text = Object.hasOwn(this.texts, path) ? this.texts[path] : undefined;
    if (text !== undefined) return { status: 200, ...(await text()) };
    return {
      status: 404,
      type: "text/plain",
      text: `not found; available paths: ${Object.keys(this.texts).join(", ")}\n`,
    };
  }
}
