/**
 * Histories through real processes: providers that keep ledgers and fail at any byte, and the proxy
 * or the daemon killed −9 in mid-stream. What each history was charged is read at the end.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { RecordItem } from "../../shared/api/record-item.js";
import { createRandom, type Random } from "../sim/random.js";
import { until } from "../support/client.js";
import { makeSite, type Part } from "../support/processes/processes.js";
import type { Charge } from "./check-history.js";
import { type Ask, drawAsk, type Entry, ledgerYaml, prices } from "./play.js";
import { replyTo } from "./stand-in.js";

export type Kill = "none" | "daemon" | "proxy";

export interface RealHistory {
  readonly seed: number;
  readonly ask: Ask;
  readonly entries: readonly Entry[];
  readonly charges: readonly Charge[];
  /** It may have run in a proxy that was killed: such requests have no records. */
  readonly isInKilled: boolean;
}

interface Running {
  readonly seed: number;
  readonly ask: Ask;
  readonly random: Random;
  readonly entries: Entry[];
  readonly client: AbortController;
  isOver: boolean;
  isInKilled: boolean;
}

/** Histories at a time. */
const atOnce = 10;
/** A silent provider is given up after it. */
const silentMs = 400;

export async function playReal(
  t: Test,
  { seeds, killEach }: { readonly seeds: readonly number[]; readonly killEach: number },
): Promise<readonly RealHistory[]> {
  const runs = new Map<number, Running>();
  const waiting = new Set<() => void>();
  let isHeld = false;
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const yaml = ledgerYaml(
    (name) => `http://127.0.0.1:${port}/${name}/v1`,
    `, first_byte_timeout_ms: ${silentMs}, idle_timeout_ms: ${silentMs}`,
  );
  const site = makeSite(t, `limiter: { deadline_ms: 60000 }\n${yaml}`);
  let daemon = await site.startDaemon();
  let proxy = await site.startProxy();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const [, provider = "", path = ""] = /^\/(\w+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const run = runs.get(Number(/h(\d+)h/.exec(body.toString())?.[1]));
    // A process that was killed may have sent a part of it.
    if (run === undefined) return void response.destroy();
    const drawn = replyTo({ path, body }, prices[provider]!, run.random);
    // The request has come, even if the connection is of no use.
    run.entries.push({ ...drawn, received: true });
    if (!drawn.received) return void response.destroy();
    if (drawn.status !== 0) response.writeHead(drawn.status, { "content-type": drawn.type });
    const half = Math.ceil(drawn.pieces.length / 2);
    for (const [at, piece] of drawn.pieces.entries()) {
      if (at === half && isHeld) await new Promise<void>((resolve) => waiting.add(resolve));
      if (response.destroyed) return;
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    }
    if (drawn.leavesAfter !== null) return run.client.abort();
    if (drawn.ending === "end") response.end();
    else if (drawn.ending === "broken") response.destroy();
  }

  async function play(seed: number): Promise<void> {
    const random = createRandom(seed);
    const drawn = drawAsk(random);
    const ask = { ...drawn, body: drawn.body.replace("word ", `h${seed}h `) };
    const client = new AbortController();
    const run = { seed, ask, random, client, entries: [], isOver: false, isInKilled: false };
    runs.set(seed, run);
    const query = ask.query === "" ? "" : `?${ask.query}`;
    await fetch(`${proxy.ready}${ask.path}${query}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": `h${seed}h` },
      body: ask.body,
      signal: client.signal,
    })
      .then((response) => response.arrayBuffer())
      .catch(() => {
        // It left, or was cut.
      });
    run.isOver = true;
  }

  async function playRound(round: readonly number[], kill: Kill): Promise<void> {
    isHeld = kill !== "none";
    const left = [...round];
    const workers = Array.from({ length: atOnce }, async () => {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) await play(seed);
    });
    const all = Promise.all(workers);
    if (isHeld) {
      // Some answers stop in the middle until one of the processes is dead.
      await Promise.race([
        until(
          () => Promise.resolve(waiting.size),
          (size) => size > 2,
        ),
        all,
      ]);
      await (kill === "daemon" ? killDaemon() : killProxy(round));
      isHeld = false;
      for (const goOn of waiting) goOn();
      waiting.clear();
    }
    await all;
  }

  async function killDaemon(): Promise<void> {
    await daemon.kill("SIGKILL");
    daemon = await site.startDaemon();
  }

  async function killProxy(round: readonly number[]): Promise<void> {
    // Of a client that has left, the proxy settles a moment later.
    for (const seed of round) {
      const run = runs.get(seed);
      if (run !== undefined) run.isInKilled = !run.isOver || run.client.signal.aborted;
    }
    await proxy.kill("SIGKILL");
    proxy = await site.startProxy();
  }

  const kills: readonly Kill[] = ["none", "daemon", "proxy"];
  for (let from = 0, round = 0; from < seeds.length; from += killEach, round++)
    await playRound(seeds.slice(from, from + killEach), kills[round % kills.length]!);
  // A proxy that stops has handed over all that it knows.
  await proxy.kill("SIGTERM");
  const reader = await site.startProxy();
  const charges = await chargesOf(reader);
  return [...runs.values()].map(({ seed, ask, entries, isInKilled }) => ({
    ...{ seed, ask, entries, isInKilled },
    charges: charges.get(seed) ?? [],
  }));
}

async function chargesOf({ ready: url }: Part): Promise<ReadonlyMap<number, readonly Charge[]>> {
  const answer = await fetch(`${url}/admin/usage/records?format=ndjson`);
  const charges = new Map<number, Charge[]>();
  for (const line of (await answer.text()).split("\n")) {
    if (line === "") continue;
    const record = JSON.parse(line) as RecordItem;
    const seed = Number(/h(\d+)h/.exec(record.request_id)?.[1]);
    charges.set(seed, [...(charges.get(seed) ?? []), chargeOf(record)]);
  }
  return charges;
}

function chargeOf({ total_cost, cost_at_most, ...record }: RecordItem): Charge {
  const atMost = cost_at_most === null ? null : { cost: pico(cost_at_most) };
  return {
    record: { totalCost: total_cost === null ? null : pico(total_cost), atMost },
    estimated: record.estimated,
    tokens: record.total_tokens,
  };
}

/** The API has dollars, unrounded. */
function pico(usd: number): number {
  return Math.round(usd * 1e12);
}
