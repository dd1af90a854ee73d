import type { StagingServers } from "../staging";
import type { Host } from "../../../platforms/host/host";

export function stagingProcesses(host: Host): StagingServers {
  const nodeOf = (name: string): string => `${name}-0`;
  return {
    version: host.programs.version,
    directory: host.run.path,
    directoryOf: (name) => host.run.nodeDirectory(name, nodeOf(name)),
    start: (name, settings, signal) =>
      host.start(
        { name, mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 }, settings, zones: ["a"] },
        signal,
      ),
    stop: (name) => host.signal(name, [nodeOf(name)], "SIGKILL"),
  };
}
