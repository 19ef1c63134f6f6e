/**
 * The cells of the crash matrix, played with real processes: a daemon and two proxies under load, a
 * moment that is reached and not waited for, a crash, a restart; then the next cell, of the same
 * moment, on other paths, with whatever lives. It returns what should be counted, and what is,
 * since the first of them; the judgement is the test's.
 */
import { once } from "node:events";
import { join } from "node:path";
import type { Test } from "tap";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { agesSeconds } from "../ages.js";
import { admin, type RuleItem, ruleNow, until } from "../client.js";
import { makeSite, type Part, type Site } from "../processes/processes.js";
import { type NotesByProxy, startRelay } from "../processes/socket-relay.js";
import { storeWrites } from "../processes/store-writes.js";
import { startScriptedUpstream } from "../providers/scripted-upstream.js";
import {
  createTruth,
  type Life,
  type OpenStream,
  type Seat,
  startLoad,
  type Truth,
} from "./crash-load.js";

export const victims = ["proxy", "daemon", "both"] as const;
export const signals = ["SIGTERM", "SIGKILL"] as const;
export const moments = ["idle", "mid-admit", "mid-stream", "mid-settle", "mid-snapshot"] as const;

export interface Cell {
  readonly dies: (typeof victims)[number];
  readonly signal: (typeof signals)[number];
  readonly moment: (typeof moments)[number];
  readonly round: number;
}

export const tightCap = 20;
export const slotsCap = 3;
export const heldCap = 3;
/** As many windows as one path may have: a snapshot of more than two slices. */
const wideRules = 1_000;
const wideAges = 2_000_000_000;
const flushSeconds = 0.25;

/** What was and what is counted, of this cell and all that were played on its stage before. */
export interface CellOutcome {
  readonly truth: Truth;
  readonly lives: readonly Life[];
  readonly exitCodes: readonly (number | null)[];
  /** Slots of the cell's own `held` as listed when the dead part was back. */
  readonly heldAfter: number;
  readonly heldExpected: number;
  /** As listed at rest. */
  readonly rules: readonly RuleItem[];
}

/** A user path of a cell: each has its own, so that its caps are fresh. */
export function pathOf(
  { dies, signal }: Pick<Cell, "dies" | "signal">,
  name: "count" | "tight" | "slots" | "held",
): string {
  return `/${dies}-${signal}/${name}`;
}

/** All cells of a stage count here. */
const widePath = "/wide";

function configuration(baseUrl: string, moment: Cell["moment"]): string {
  const huge = "max_requests: 1000000, max_tokens: 1000000000";
  const wide = Array.from(
    { length: wideRules },
    (_, i) => `        - { period_seconds: ${wideAges + i}, ${huge} }`,
  ).join("\n");
  const pathsOfCell = (cell: Pick<Cell, "dies" | "signal">): string => `
    - { path: ${pathOf(cell, "count")}, limits: [{ period_seconds: ${agesSeconds}, ${huge} }] }
    - { path: ${pathOf(cell, "tight")}, limits: [{ period_seconds: ${agesSeconds}, max_requests: ${tightCap}, max_tokens: 1000000000 }] }
    - { path: ${pathOf(cell, "slots")}, limits: [{ period: concurrent, max_requests: ${slotsCap} }, { period_seconds: ${agesSeconds}, ${huge} }] }
    - { path: ${pathOf(cell, "held")}, limits: [{ period: concurrent, max_requests: ${heldCap} }, { period_seconds: ${agesSeconds}, ${huge} }] }`;
  return `
providers: { test: { type: openai, base_url: "${baseUrl}", api_key: none, models: ["*"] } }
limiter: { deadline_ms: 60000 }
rate_limits:
  flush_interval: ${flushSeconds}
  user_paths:${victims.flatMap((dies) => signals.map((signal) => pathsOfCell({ dies, signal }))).join("")}
${moment === "mid-snapshot" ? `    - path: ${widePath}\n      limits:\n${wide}\n` : ""}`;
}

/** Where the cells of one moment are played, one after the other. */
export interface Stage {
  readonly site: Site;
  readonly truth: Truth;
  readonly lives: Life[];
  readonly notes: NotesByProxy;
  daemon: Part;
  readonly first: Seat;
  readonly second: Seat;
}

async function newLife({
  site,
  lives,
  notes,
}: Pick<Stage, "site" | "lives" | "notes">): Promise<Life> {
  const relay = await startRelay(
    join(site.directory, `proxy-${lives.length}.sock`),
    adminSocketBeside(site.socket),
    notes,
  );
  const life: Life = {
    relay,
    part: await site.startProxy(relay.socket),
    fate: "living",
    forgotten: false,
  };
  lives.push(life);
  return life;
}

const never = new Promise<void>(() => {});

/** Starts a daemon and two proxies; they end with the test. */
export async function openStage(t: Test, moment: Cell["moment"]): Promise<Stage> {
  const upstream = await startScriptedUpstream();
  const site = makeSite(t, configuration(upstream.baseUrl, moment));
  const lives: Life[] = [];
  t.teardown(async () => {
    await Promise.all(lives.map(({ relay }) => relay.close()));
    await upstream.close();
  });
  const daemon = await site.startDaemon();
  const notes: NotesByProxy = new Map();
  const first: Seat = { life: await newLife({ site, lives, notes }), next: never };
  const second: Seat = { life: await newLife({ site, lives, notes }), next: never };
  return { site, truth: createTruth(upstream), lives, notes, daemon, first, second };
}

/** Plays it to the last count, and until all that is counted is stored. */
export async function playCell(stage: Stage, cell: Cell): Promise<CellOutcome> {
  const { site, truth, lives, first, second } = stage;
  const [count, tight, slots, heldPath] = (["count", "tight", "slots", "held"] as const).map(
    (name) => pathOf(cell, name),
  ) as [string, string, string, string];
  const start = () =>
    startLoad(truth, [first, second], { paths: [count, tight, slots, count], clientsPerSeat: 2 });
  let load = start();
  await load.answered(16);
  const quiet = cell.moment === "idle" || cell.moment === "mid-snapshot";
  if (quiet) await load.stop();

  const open = await reach(stage, cell);
  const { life } = first;
  const proxyDies = cell.dies !== "daemon";
  let born: () => void = () => {};
  if (proxyDies) {
    first.next = new Promise((resolve) => (born = resolve));
    if (cell.signal === "SIGKILL") truth.killed(life);
    else life.fate = "doomed";
    life.forgotten = cell.signal === "SIGKILL" && cell.dies === "both";
  }
  const dying: Part[] = [
    ...(cell.dies === "proxy" ? [] : [stage.daemon]),
    ...(proxyDies ? [life.part] : []),
  ];
  for (const { child } of dying) child.kill(cell.signal);
  const proxyDrains = proxyDies && cell.signal === "SIGTERM";
  if (cell.dies !== "proxy") {
    await ended(stage.daemon);
    stage.daemon = await site.startDaemon();
  }
  if (proxyDies && !proxyDrains) await ended(life.part);
  life.relay.resume();

  const stillOpen = open.filter(({ sent }) => sent.life.fate !== "killed" && !sent.left);
  const heldExpected = stillOpen.filter(({ sent }) => sent.path === heldPath).length;
  const held = await until(
    () => ruleNow(second.life.part.ready, heldPath, 0),
    ({ in_flight: inFlight }) => inFlight === heldExpected,
  );
  await Promise.all(stillOpen.map((stream) => stream.finish()));
  if (proxyDies) {
    await ended(life.part);
    first.life = await newLife(stage);
    born();
  }
  if (quiet) load = start();
  await load.answered(16);
  await load.stop();
  while ((await truth.ask(second.life, tight)) === 200);
  for (const { relay, fate } of lives) if (fate !== "killed") await relay.settled();
  const { body } = await admin(second.life.part.ready, "GET /rate-limits");
  const rules = body.rate_limits;
  // Two crashes without a snapshot between them are described in docs/contributing/storage.md, and
  // are not what is played here.
  while (await storeWrites(join(site.directory, "data"), 1, 2 * flushSeconds * 1000));
  return {
    truth,
    lives,
    exitCodes: dying.map(({ child }) => child.exitCode),
    heldAfter: held.in_flight,
    heldExpected,
    rules,
  };
}

async function ended({ child }: Part): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Brings the system to the moment; what it leaves open is returned. */
async function reach(
  { site, truth, first, second }: Stage,
  cell: Cell,
): Promise<readonly OpenStream[]> {
  const { relay } = first.life;
  if (cell.moment === "idle") {
    for (const { life } of [first, second]) await life.relay.settled();
    return [];
  }
  const open = await Promise.all(
    [first, first, second].map(({ life }) => truth.open(life, pathOf(cell, "held"))),
  );
  switch (cell.moment) {
    case "mid-stream":
      break;
    case "mid-admit": {
      // One verdict has been given and not read, one question asked and not read.
      const verdict = relay.hold("down", "admitted");
      void truth.ask(first.life, pathOf(cell, "count"));
      await verdict;
      const question = relay.hold("up", "admit");
      void truth.ask(first.life, pathOf(cell, "count"));
      await question;
      break;
    }
    case "mid-settle": {
      // One settle is durable and its acknowledgement not read, one is not read itself.
      const triggers = await Promise.all(
        [0, 1].map(() => truth.open(first.life, pathOf(cell, "count"))),
      );
      const acknowledgement = relay.hold("down", "settled");
      void triggers[0]!.finish();
      await acknowledgement;
      const settle = relay.hold("up", "settle");
      void triggers[1]!.finish();
      await settle;
      break;
    }
    case "mid-snapshot": {
      // No settle is on its way, so what is written next is a slice of a snapshot.
      do
        open.push(
          ...(await Promise.all([first, second].map(({ life }) => truth.open(life, widePath)))),
        );
      while (
        !(await storeWrites(
          join(site.directory, "data"),
          1 + (cell.round % 4),
          2 * flushSeconds * 1000,
        ))
      );
      break;
    }
  }
  open[0]!.leave();
  return open;
}
