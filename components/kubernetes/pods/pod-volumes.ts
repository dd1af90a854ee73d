import type { types } from "@pulumi/kubernetes";
import type { Engine } from "../../../valkey/settings/engines";
import type { ServerArgs, Tls } from "../arguments";
import { ENGINE_PROGRAMS } from "../engines";
import { CONFIG_DIRECTORY, PRIMARY_DIRECTORY, SCRIPTS_DIRECTORY, SECRET_DIRECTORY, TLS_DIRECTORY } from "../layout";
import type { ObjectNames } from "../names";
import { PASSWORD_FILE } from "../server-config";

/** Dragonfly keeps nothing on disk here. */
export function hasVolumes({ engine, storage }: Pick<ServerArgs, "engine" | "storage">): boolean {
  return engine !== "dragonfly" && storage.ephemeral !== true;
}

/** File mode of secrets: only the server's user and group can read them. */
export const SECRET_MODE = 0o440;

export function podVolumes(names: ObjectNames, tls: Tls | undefined): types.input.core.v1.Volume[] {
  return [
    { name: "config", configMap: { name: names.config } },
    { name: "scripts", configMap: { name: names.scripts } },
    secretVolume(names),
    ...tlsVolumes(tls),
  ];
}

export function primaryVolume({ primary }: ObjectNames): {
  readonly volume: types.input.core.v1.Volume;
  readonly directory: string;
} {
  return { volume: { name: "primary", configMap: { name: primary } }, directory: PRIMARY_DIRECTORY };
}

export function tlsVolumes(tls: Tls | undefined): types.input.core.v1.Volume[] {
  return tls === undefined ? [] : [{ name: "tls", secret: { secretName: tls.secretName, defaultMode: SECRET_MODE } }];
}

function tlsMounts(tls: Tls | undefined): types.input.core.v1.VolumeMount[] {
  return tls === undefined ? [] : [{ name: "tls", mountPath: TLS_DIRECTORY, readOnly: true }];
}

/** While two passwords are valid, also a file that makes a starting server accept both. */
function secretVolume({ secret, overlap }: ObjectNames): types.input.core.v1.Volume {
  return {
    name: "secret",
    projected: {
      defaultMode: SECRET_MODE,
      sources: [{ secret: { name: secret } }, { secret: { name: overlap, optional: true } }],
    },
  };
}

/** The kubelet updates them in running pods. @param files keys of the Secret. @default only the servers' password */
export function passwordVolume(
  { secret }: ObjectNames,
  files: readonly string[] = [PASSWORD_FILE],
): types.input.core.v1.Volume {
  const items = files.map((key) => ({ key, path: key }));
  return { name: "secret", secret: { secretName: secret, items, defaultMode: SECRET_MODE } };
}

export function serverMounts(tls: Tls | undefined): types.input.core.v1.VolumeMount[] {
  return [
    { name: "config", mountPath: CONFIG_DIRECTORY, readOnly: true },
    { name: "scripts", mountPath: SCRIPTS_DIRECTORY, readOnly: true },
    ...secretMounts(tls),
  ];
}

export function secretMounts(tls: Tls | undefined): types.input.core.v1.VolumeMount[] {
  return [{ name: "secret", mountPath: SECRET_DIRECTORY, readOnly: true }, ...tlsMounts(tls)];
}

/** @param authority file of the certificate authority; undefined without TLS */
export function scriptEnvironment(authority: string | undefined, engine?: Engine): Record<string, string> {
  return {
    VALKEY_PASSWORD_FILE: `${SECRET_DIRECTORY}/${PASSWORD_FILE}`,
    ...(engine === "redis" ? { VALKEY_CLI: ENGINE_PROGRAMS.redis.client } : {}),
    ...(authority === undefined ? {} : { VALKEY_TLS_CA: authority }),
  };
}
