import { Interrupted } from "../../lib/errors";

interface Interruption {
  /** Signal that is aborted, with Interrupted as its reason, at the first request to stop. */
  readonly signal: AbortSignal;
  /** Even after that, a broken pipe does not end the process. */
  readonly dispose: () => void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @param onSecond called at the second request to stop. This function must not return */
export function listenForInterruption(onSecond: () => void): Interruption {
  const controller = new AbortController();
  const stop = (signal: Interrupted["signal"]): void => {
    if (controller.signal.aborted) onSecond();
    else controller.abort(new Interrupted(signal));
  };
  const handlers = SIGNALS.map(
    (signal) =>
      [
        signal,
        (): void => {
          stop(signal);
        },
      ] as const,
  );
  for (const [signal, handler] of handlers) process.on(signal, handler);
  // A command such as `npm start | head` closes the pipe. Without a listener the next write would end the process and
  // leave servers running.
  const onPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code === "EPIPE" && !controller.signal.aborted) stop("SIGPIPE");
  };
  process.stdout.on("error", onPipe);
  process.stderr.on("error", onPipe);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}

const NUMBERS: Readonly<Record<Interrupted["signal"], number>> = { SIGHUP: 1, SIGINT: 2, SIGPIPE: 13, SIGTERM: 15 };

export function exitStatusOf({ signal }: Interrupted): number {
  return 128 + NUMBERS[signal];
}
