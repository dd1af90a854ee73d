/**
 * The parts of the client library that this project uses. A bundle that imports this file contains only these parts,
 * and a pod that runs the bundle has only these parts in its memory. The library consists of ECMAScript modules, so this
 * file is one too.
 */
export {
  AppsV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  DiscoveryV1Api,
  Exec,
  KubeConfig,
  PatchStrategy,
  PolicyV1Api,
  ServerConfiguration,
  setHeaderOptions,
  StorageV1Api,
  VersionApi,
  Watch,
} from "@kubernetes/client-node";
