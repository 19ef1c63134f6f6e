/**
 * The crash matrix (docs/contributing/testing.md): whatever dies, however, and whenever,
 * the gauges are right, no token is lost or counted twice, and no limit is exceeded. The cells of
 * one moment are played one after the other by the same daemon and proxies, or what was started in
 * their place, so what was counted before a crash is judged after every later one, too. With
 * SLUICE_CRASH_ROUNDS=20 each cell is played that often, and the table of results is printed.
 */
import t, { type Test } from "tap";
import {
  type Cell,
  type CellOutcome,
  heldCap,
  moments,
  openStage,
  pathOf,
  playCell,
  signals,
  slotsCap,
  tightCap,
  victims,
} from "../../support/crash/crash-cell.js";
import type { Life, Sent } from "../../support/crash/crash-load.js";
import type { SettleSeen } from "../../support/processes/socket-relay.js";

const rounds = Number(process.env["SLUICE_CRASH_ROUNDS"] ?? 1);
const crashes = victims.flatMap((dies) => signals.map((signal) => ({ dies, signal })));

/**
 * What a counter may say: one number, unless the proxy that knew it and the daemon were killed
 * together.
 */
interface Expected {
  readonly least: number;
  readonly most: number;
}

const counted = ["requests", "repeatedSettles", "unknownRequests", "unknownTokens"] as const;
type Counts = Record<(typeof counted)[number], number>;

const noCounts: Readonly<Counts> = {
  requests: 0,
  repeatedSettles: 0,
  unknownRequests: 0,
  unknownTokens: 0,
};
const nameOf = ({ dies, signal, moment }: Omit<Cell, "round">): string =>
  `${dies}, ${signal}, ${moment}`;
const results = new Map(
  crashes.flatMap((crash) =>
    moments.map((moment) => [nameOf({ ...crash, moment }), { rounds: 0, ...noCounts }]),
  ),
);

t.setTimeout(240_000 * rounds);
t.jobs = moments.length;
for (let round = 0; round < rounds; round++) {
  for (const moment of moments) {
    void t.test(moment, { buffered: true, timeout: 240_000 * rounds }, async (t) => {
      const stage = await openStage(t, moment);
      let before = noCounts;
      for (const crash of crashes) {
        const cell = { ...crash, moment, round };
        await t.test(nameOf(cell), async (t) => {
          const now = judge(t, cell, await playCell(stage, cell));
          const tally = results.get(nameOf(cell))!;
          tally.rounds++;
          for (const key of counted) tally[key] += now[key] - before[key];
          before = now;
        });
      }
    });
  }
}

/** Judges all that was on this stage so far; returns what it comes to. */
function judge(
  t: Test,
  cell: Cell,
  { truth, lives, exitCodes, heldAfter, heldExpected, rules }: CellOutcome,
): Counts {
  t.same(
    exitCodes.filter((code) => code !== (cell.signal === "SIGTERM" ? 0 : null)),
    [],
    "who is asked to end ends well",
  );
  t.equal(heldAfter, heldExpected, "what the living hold is held, and nothing else");
  t.same(
    rules.filter(({ in_flight: slots }) => slots !== 0),
    [],
    "at rest every slot is free",
  );
  for (const life of lives)
    judgeLife(
      t,
      life,
      truth.sent.filter((request) => request.life === life),
    );
  const wrong: string[] = [];
  let [unknownRequests, unknownTokens] = [0, 0];
  for (const path of new Set(rules.map(({ subject }) => subject))) {
    const { requests, tokens } = expected(lives, path);
    // Of a thousand windows on one path each must say the same.
    for (const rule of rules) {
      if (rule.subject !== path || rule.period_seconds === 0) continue;
      for (const [count, { least, most }, name] of [
        [rule.requests_used, requests, "requests"],
        [rule.tokens_used, tokens, "tokens"],
      ] as const) {
        if (count < least || count > most)
          wrong.push(
            `${path} ${rule.period_seconds}: ${count} ${name}, not ${least === most ? least : `from ${least} to ${most}`}`,
          );
      }
    }
    const { requests_used: requestsUsed, tokens_used: tokensUsed } = rules.find(
      (rule) => rule.subject === path && rule.period_seconds > 0,
    )!;
    unknownRequests += requests.most - requestsUsed;
    unknownTokens += tokens.most - tokensUsed;
  }
  t.same(wrong, [], "every window holds what was, and nothing else");
  const [tight, slots, held] = [pathOf(cell, "tight"), pathOf(cell, "slots"), pathOf(cell, "held")];
  const forgotten = lives
    .filter((life) => life.forgotten)
    .reduce(
      (sum, { relay }) =>
        sum +
        countOf(relay.ledger.granted, tight) -
        [...relay.ledger.settles].filter(
          ([seq, { userPath }]) => userPath === tight && seq <= relay.ledger.ackedSeq,
        ).length,
      0,
    );
  const executed = truth.sent.filter(
    (request) => request.path === tight && request.executed,
  ).length;
  t.equal(
    rules.find(({ subject }) => subject === tight)?.requests_used,
    tightCap,
    "the cap was reached, and not passed",
  );
  t.ok(executed <= tightCap + forgotten, `${executed} were executed under a cap of ${tightCap}`);
  t.ok(truth.peak(slots) <= slotsCap, `${truth.peak(slots)} at once in ${slotsCap} slots`);
  t.ok(truth.peak(held) <= heldCap, `${truth.peak(held)} at once in ${heldCap} slots`);
  const requests = truth.sent.filter((request) => request.executed).length;
  const repeatedSettles = lives.reduce((sum, { relay }) => sum + relay.ledger.repeatedSettles, 0);
  return { requests, repeatedSettles, unknownRequests, unknownTokens };
}

/**
 * The settles of a proxy are what its requests were: each once, with the tokens that its provider
 * told.
 */
function judgeLife(t: Test, { relay, fate }: Life, sent: readonly Sent[]): void {
  const settles = [...relay.ledger.settles.values()];
  const settled = settles
    .filter(({ estimated }) => !estimated)
    .map(({ tokens }) => tokens)
    .sort();
  const reported = sent
    .filter(({ tokens, left }) => tokens !== null && !left)
    .map(({ tokens }) => tokens!)
    .sort();
  if (fate !== "killed") {
    t.equal(
      settles.length,
      sent.filter(({ executed }) => executed).length,
      "one settle for each request that was executed",
    );
    t.same(settled, reported, "every token that a provider reported, once");
    t.equal(
      settles.filter(({ estimated }) => estimated).length,
      sent.filter(({ left }) => left).length,
      "an estimate for each client that went away",
    );
    return;
  }
  t.equal(new Set(settled).size, settled.length, "none twice");
  t.same(
    settled.filter((tokens) => !reported.includes(tokens)),
    [],
    "none that no provider reported",
  );
  t.same(
    sent.filter(({ whole, tokens }) => whole && !settled.includes(tokens!)),
    [],
    "what a client had whole was settled",
  );
}

/**
 * What a proxy settled is counted, for each path. A killed proxy's admissions stay counted, and
 * those that it never had an answer to may be. Only when the daemon is killed with it may less be
 * known: what was acknowledged, at the least.
 */
function expected(
  lives: readonly Life[],
  path: string,
): { readonly requests: Expected; readonly tokens: Expected } {
  const sum = { requests: { least: 0, most: 0 }, tokens: { least: 0, most: 0 } };
  for (const { relay, fate, forgotten } of lives) {
    const { granted, unanswered, settles, ackedSeq } = relay.ledger;
    const sent = [...settles].filter(([, { userPath }]) => userPath === path);
    const durable = forgotten ? sent.filter(([seq]) => seq <= ackedSeq) : sent;
    const requests = fate === "killed" ? countOf(granted, path) : sent.length;
    sum.requests.most += requests + (fate === "killed" ? countOf(unanswered, path) : 0);
    sum.requests.least += forgotten ? durable.length : requests;
    sum.tokens.most += tokensOf(sent);
    sum.tokens.least += tokensOf(durable);
  }
  return sum;
}

function countOf(paths: ReadonlyMap<number, string>, path: string): number {
  return [...paths.values()].filter((userPath) => userPath === path).length;
}

function tokensOf(settles: readonly (readonly [number, SettleSeen])[]): number {
  return settles.reduce((total, [, { tokens }]) => total + tokens, 0);
}

t.teardown(() => {
  if (rounds === 1) return;
  for (const [
    name,
    { rounds: played, requests, repeatedSettles, unknownRequests, unknownTokens },
  ] of results) {
    console.log(
      `| ${name.split(", ").join(" | ")} | ${played} | ${requests} | ${repeatedSettles} | ${unknownRequests} | ${unknownTokens} |`,
    );
  }
});
