/**
 * SIGTERM, SIGINT and SIGHUP end a follower behind the batch that it hands on; a second one ends it
 * at once.
 */

export interface StopSignals {
  /** The first that came; null: none has. */
  readonly received: NodeJS.Signals | null;
  /** Waits, or until one comes. */
  pause(ms: number): Promise<void>;
  /** From now on they mean again what they mean. */
  forget(): void;
}

const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export function listenForStop(wait: (ms: number) => Promise<void>): StopSignals {
  let received: NodeJS.Signals | null = null;
  let wake = (): void => {};
  const came = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    forget();
    received = signal;
    wake();
  };
  const forget = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    get received() {
      return received;
    },
    pause: (ms) => Promise.race([wait(ms), came]),
    forget,
  };
}
