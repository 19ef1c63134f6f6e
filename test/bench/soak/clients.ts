/**
 * The clients of the soak: so many requests a second, however the gateway answers them, most on
 * connections that are kept and some on new ones. Nothing is sent twice.
 */
import http, { type IncomingMessage } from "node:http";
import type { Ledger } from "./ledger.js";
import {
  answerOf,
  kindOf,
  numberIn,
  requestOf,
  scattered,
  streamEnds,
  tenantOf,
  userPathOf,
} from "./mix.js";

interface ClientOptions {
  readonly url: string;
  readonly master: string;
  /** By tenant. */
  readonly keys: readonly string[];
  readonly perSecond: number;
  readonly ledger: Ledger;
  /** Since the start. */
  readonly nowS: () => number;
}

/** So much may be under way: beyond it, requests come later than they should. */
const inFlightMax = 4_000;
const tickMs = 10;

export interface Clients {
  /** Sends no more; resolves when all have ended. */
  stop(): Promise<void>;
  /** Requests that weren't sent when they should have been. */
  readonly late: number;
}

export function startClients(options: ClientOptions): Clients {
  const { ledger, perSecond, nowS } = options;
  const agent = new http.Agent({ keepAlive: true, maxSockets: inFlightMax, maxFreeSockets: 200 });
  const startS = nowS();
  let [late, stopped] = [0, false];
  let onEnded: () => void = () => {};
  const ended = (): void => {
    if (stopped && ledger.inFlight === 0) onEnded();
  };
  const timer = setInterval(() => {
    const due = Math.floor((nowS() - startS) * perSecond) - ledger.sent;
    for (let i = 0; i < due; i++) {
      if (ledger.inFlight >= inFlightMax) {
        late += due - i;
        return;
      }
      const n = ledger.begin();
      if (n === null) return;
      ask(options, n, agent, ended);
    }
  }, tickMs);
  return {
    get late() {
      return late;
    },
    async stop() {
      clearInterval(timer);
      stopped = true;
      if (ledger.inFlight > 0) await new Promise<void>((resolve) => (onEnded = resolve));
      agent.destroy();
    },
  };
}

function headersOf({ master, keys }: ClientOptions, n: number): Record<string, string> {
  const { as } = kindOf(n);
  const key = as === "wrong key" ? `sk-nobody-${n}` : as === "key" ? keys[tenantOf(n)]! : master;
  return {
    "content-type": "application/json",
    "x-request-id": `soak-${n}`,
    authorization: `Bearer ${key}`,
    ...(as === "key" || as === "wrong key" ? {} : { "x-sluice-user-path": userPathOf(n) }),
  };
}

function ask(options: ClientOptions, n: number, agent: http.Agent, ended: () => void): void {
  const { url, ledger, nowS } = options;
  const { endpoint, body } = requestOf(n);
  const { leaves } = kindOf(n);
  const end = (outcome: Parameters<Ledger["end"]>[1], status: number, note?: string): void => {
    ledger.end(n, outcome, { status, atS: nowS(), ...(note === undefined ? {} : { note }) });
    ended();
  };
  const leave = (status: number): void => {
    if (ledger.outcomeOf(n) !== "under way") return;
    end("left", status);
    request.destroy();
  };
  const request = http.request(url + endpoint, {
    method: "POST",
    agent: scattered(n + 13) % 20 === 0 ? false : agent,
    headers: { ...headersOf(options, n), "content-length": Buffer.byteLength(body) },
  });
  // With an answer of its own, an error of the connection comes after that.
  request.on("error", (error: NodeJS.ErrnoException) =>
    end("broken", 0, error.code ?? error.message),
  );
  request.on("response", (response) => {
    const status = response.statusCode!;
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (piece: string) => {
      text += piece;
      if (leaves === "amid" && status === 200) leave(status);
    });
    response.on("error", () => end("cut", status));
    response.on("end", () => end(...judged(n, response, text)));
  });
  request.end(body);
  if (leaves === "any time") setTimeout(() => leave(0), scattered(n + 5) % 700);
}

/** What an answer is that has come to its end. */
function judged(
  n: number,
  { statusCode: status = 0, headers }: IncomingMessage,
  text: string,
): [Parameters<Ledger["end"]>[1], number, string?] {
  const { dialect, stream } = kindOf(n);
  if (status === 200) {
    if (stream && !text.includes(streamEnds[dialect])) return ["cut", status];
    const { body } = requestOf(n);
    if (dialect !== "embeddings" && !text.includes(answerOf(numberIn(body))))
      return ["wrong", status, `the answer isn't its own: ${text.slice(0, 300)}`];
    return [headers["x-cache"] === "HIT" ? "from the cache" : "whole", status];
  }
  if (text.includes("simulated") || status === 502 || status === 504)
    return ["provider failed", status];
  if (status === 429 || status === 401 || status === 404) return ["refused", status];
  return ["wrong", status, `${status} ${text.slice(0, 300)}`];
}
