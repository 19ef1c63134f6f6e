/**
 * SIGTERM, SIGINT and SIGHUP end a follower behind the batch that it hands on; a second one ends it
 * at once.
 */

export interface StopSignals {
  /** The first that came; null: none has. */
  readonly received: NodeJS.Signals | null;
  /** Waits, or until one comes. One pause at a time. */
  pause(ms: number): Promise<void>;
  /** From now on they mean again what they mean. */
  forget(): void;
}

const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

export function listenForStop(wait: (ms: number) => Promise<void>): StopSignals {
  let received: NodeJS.Signals | null = null;
  let wake = (): void => {};
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
    async pause(ms) {
      if (received !== null) return;
      // Of each pause its own: one that all wait for would keep something of each of them.
      const came = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([wait(ms), came]);
    },
    forget,
  };
}
