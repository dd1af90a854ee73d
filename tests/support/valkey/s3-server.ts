/** A real S3 server from a package, which goes away, refuses and has conditional writes when a test says so. */
import crypto from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "../../../lib/system/package";

interface ServerStore {
  existsObject(bucket: string, key: string): Promise<boolean>;
  deleteObject(bucket: string, key: string): Promise<unknown>;
  getMetadata(bucket: string, key: string): Promise<{ readonly etag?: string; readonly md5?: string }>;
}
interface Serving {
  readonly store: ServerStore;
  configureBuckets(): Promise<unknown>;
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
}
type Constructor = new (options: object) => Serving;

export const BUCKET = "backups";
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };

/** The server makes tokens with DES, which OpenSSL has no more. Three times the same key is the same cipher. */
function replaceDes(): () => void {
  const original = crypto.createCipheriv;
  const patched = (algorithm: string, key: Buffer, iv: Buffer): crypto.Cipher =>
    algorithm === "des" ? original("des-ede3-cbc", Buffer.concat([key, key, key]), iv) : original(algorithm, key, iv);
  crypto.createCipheriv = patched as typeof crypto.createCipheriv;
  return () => {
    crypto.createCipheriv = original;
  };
}

export class S3Server {
  /** Code of the error with which the server answers every request, such as `AccessDenied`. */
  refusal: string | undefined;
  hasConditions = true;
  readonly requests: string[] = [];
  #port = 0;
  readonly #restore = replaceDes();
  #server: ReturnType<typeof createServer> | undefined;

  private constructor(private readonly s3: Serving) {}

  static async start(directory: string): Promise<S3Server> {
    const Made = createRequire(join(ROOT, "package.json"))("@20minutes/s3rver") as Constructor;
    // It compares the signatures of lists with a path that has no slash at its end.
    const allowed = { vhostBuckets: false, allowMismatchedSignatures: true };
    const s3 = new Made({ directory, silent: true, ...allowed, configureBuckets: [{ name: BUCKET }] });
    await s3.configureBuckets();
    const server = new S3Server(s3);
    await server.comeBack();
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async goAway(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  }

  async comeBack(): Promise<void> {
    const handle = this.s3.callback();
    const server = createServer((request, response) => {
      this.#serve(request, response, handle).catch(() => {
        response.destroy();
      });
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async close(): Promise<void> {
    await this.goAway();
    this.#restore();
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<void> {
    this.requests.push(`${request.method ?? ""} ${request.url ?? ""}`);
    const code = this.refusal ?? ((await this.#isConditionMet(request)) ? undefined : "PreconditionFailed");
    if (code === undefined) {
      await this.#removePartial(request, response);
      handle(request, response);
      return;
    }
    request.resume();
    response.writeHead(code === "PreconditionFailed" ? 412 : code === "ExpiredToken" ? 400 : 403);
    response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code} of the test</Message></Error>`);
  }

  /**
   * Removes a new object if the connection ends before all of it has arrived. S3 has an object as a whole or not at
   * all, and the server of the package keeps a part.
   */
  async #removePartial({ method, url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { bucket, key, isPart } = objectOf(url);
    if (method !== "PUT" || isPart || key === "" || (await this.s3.store.existsObject(bucket, key))) return;
    response.once("close", () => {
      if (!response.writableFinished) void this.s3.store.deleteObject(bucket, key).catch(() => undefined);
    });
  }

  async #isConditionMet({ method, url = "", headers }: IncomingMessage): Promise<boolean> {
    const [none, match] = [headers["if-none-match"], headers["if-match"]];
    if (!this.hasConditions || method !== "PUT" || (none === undefined && match === undefined)) return true;
    const { bucket, key } = objectOf(url);
    const exists = await this.s3.store.existsObject(bucket, key);
    if (match === undefined) return !exists;
    return exists && (await this.s3.store.getMetadata(bucket, key)).etag === match;
  }
}

function objectOf(url: string): { readonly bucket: string; readonly key: string; readonly isPart: boolean } {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const [, bucket = "", ...rest] = decodeURIComponent(pathname).split("/");
  return { bucket, key: rest.join("/"), isPart: searchParams.has("uploadId") };
}
