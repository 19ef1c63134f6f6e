/** A connection to a real engine whose states a test waits for. */
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { connectEngine } from "../../limiterd/cluster/engine/connect-engine.js";
import type {
  EngineConnection,
  EngineState,
  EngineValue,
} from "../../limiterd/cluster/engine/engine.js";
import { openClients } from "../../limiterd/cluster/engine/open-client.js";
import { createPlainConfig } from "../support/cluster/cluster-config.js";

interface Connected extends EngineConnection {
  readonly lines: readonly string[];
  /** Resolved when the state is so, which it may be already. */
  until(fits: (state: EngineState) => boolean): Promise<EngineState>;
}

export function connect(t: Test, url: string, settings = {}): Connected {
  const config = createPlainConfig(url, settings);
  const lines: string[] = [];
  const note = (...words: readonly unknown[]): void => void lines.push(JSON.stringify(words));
  const connection = connectEngine({
    clusterName: config.name,
    open: openClients(config),
    log: { info: note, warn: note },
    nowMs: Date.now,
    nextProbe: () => delay(1000, undefined, { ref: false }),
  });
  t.teardown(() => connection.close());
  return {
    ...connection,
    get state() {
      return connection.state;
    },
    lines,
    until: (fits) =>
      new Promise((resolve) => {
        if (fits(connection.state)) return resolve(connection.state);
        const stop = connection.watch((state) => {
          if (!fits(state)) return;
          stop();
          resolve(state);
        });
      }),
  };
}

/** As hosts announce what they have changed: by a script. */
export function publish(
  connection: Pick<EngineConnection, "call">,
  channel: string,
  word: string,
): Promise<EngineValue> {
  const source = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";
  return connection.call({ name: "publish", source }, [channel], [channel, word]);
}

export const isConnected = ({ kind }: EngineState): boolean => kind === "connected";
export const isAway = ({ kind }: EngineState): boolean => kind === "away";
export const epochOf = (state: EngineState): string =>
  state.kind === "connected" ? state.epoch : "";
