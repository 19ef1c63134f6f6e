/** The clients of `npm run overshoot`: each sends a request, reads the answer, sends the next. */
import { setMaxListeners } from "node:events";
import http from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { answerTokens, bodyOf, promptTokens } from "./work.js";

/** Where requests go. It changes when a gateway is restarted on another port. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
}

/** What became of the requests so far. */
export interface Tally {
  sent: number;
  /** Answered with 200; `whole`: and read to the end of the stream. */
  admitted: number;
  whole: number;
  /** Of the whole answers and their prompts. */
  wholeTokens: number;
  /** A 4xx. */
  refused: number;
  /** A 5xx, or a connection that failed or broke. */
  broken: number;
  lastAdmittedMs: number;
  /** How often each refusal came, by its status. */
  readonly statuses: Map<number, number>;
}

export interface Clients {
  readonly tally: Tally;
  /** Sends no more; resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** A client that was refused asks again after a pause, which doubles up to the longest. */
const pauseMs = 250;
const longestPauseMs = 1_000;

export function startClients(target: () => Target, streams: number, firstNumber = 0): Clients {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const tally: Tally = {
    sent: 0,
    admitted: 0,
    whole: 0,
    wholeTokens: 0,
    refused: 0,
    broken: 0,
    lastAdmittedMs: performance.now(),
    statuses: new Map(),
  };
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const client = async (): Promise<void> => {
    let nextPauseMs = pauseMs;
    while (!ending.signal.aborted) {
      const n = firstNumber + tally.sent++;
      if (await ask(target(), n, agent, tally)) {
        nextPauseMs = pauseMs;
        continue;
      }
      const spreadMs = nextPauseMs * (0.75 + (n % 16) / 32);
      await delay(spreadMs, null, { signal: ending.signal }).catch(() => {});
      nextPauseMs = Math.min(longestPauseMs, 2 * nextPauseMs);
    }
  };
  const all = Promise.all(Array.from({ length: streams }, client));
  return {
    tally,
    async stop() {
      ending.abort();
      await all;
      agent.destroy();
    },
  };
}

function ask(
  { url, headers, model }: Target,
  n: number,
  agent: http.Agent,
  tally: Tally,
): Promise<boolean> {
  const body = bodyOf(n, model);
  return new Promise((resolve) => {
    const broken = (): void => {
      tally.broken++;
      resolve(false);
    };
    const request = http.request(`${url}/v1/chat/completions`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        ...headers,
      },
    });
    request.on("error", broken);
    request.on("response", (response) => {
      const status = response.statusCode ?? 0;
      let end = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => (end = (end + text).slice(-40)));
      if (status === 200) {
        tally.admitted++;
        tally.lastAdmittedMs = performance.now();
      }
      response.on("close", () => {
        if (!response.complete) return broken();
        if (status === 200) {
          if (end.includes("[DONE]")) {
            tally.whole++;
            tally.wholeTokens += promptTokens + answerTokens(body);
          }
          return resolve(true);
        }
        tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
        if (status >= 500) return broken();
        tally.refused++;
        resolve(false);
      });
      response.on("error", () => {
        // "close" follows.
      });
    });
    request.end(body);
  });
}
