/** Images beside the servers' own. Pinned; configurations may name others. */

/** Image of HAProxy 3.1 or newer, in front of a primary with Sentinels. */
export const PROXY_IMAGE = "docker.io/library/haproxy:3.2.26";

/** Image of oliver006/redis_exporter. */
export const EXPORTER_IMAGE = "ghcr.io/oliver006/redis_exporter:v1.86.0";
