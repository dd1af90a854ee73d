/** Versions of images are pinned, so that it is known which versions run. */
import type { Engine } from "../../valkey/settings/engines";

/** Image of the Valkey servers and of valkey-benchmark. */
export const DEFAULT_IMAGE = "docker.io/valkey/valkey:9.1.2";

export const SERVER_IMAGES: Readonly<Record<Engine, string>> = {
  valkey: DEFAULT_IMAGE,
  redis: "docker.io/library/redis:8.2.1",
  dragonfly: "docker.dragonflydb.io/dragonflydb/dragonfly:v1.37.2",
};

/** Image of HAProxy 3.1 or newer, for the proxies in front of a primary with Sentinels. */
export const PROXY_IMAGE = "docker.io/library/haproxy:3.2.26";

export const EXPORTER_IMAGE = "ghcr.io/oliver006/redis_exporter:v1.86.0";

/** Any image with Node 20 or newer and a shell works. */
export const NODE_IMAGE = "docker.io/library/node:22.20.0-bookworm-slim";

/** Any image with memtier_benchmark 2 and a shell works. */
export const MEMTIER_IMAGE = "docker.io/redislabs/memtier_benchmark:2.4.2";
