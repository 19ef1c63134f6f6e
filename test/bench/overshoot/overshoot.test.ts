import t from "tap";
import { capText, describeTable, type GatewayResults, pageOf, percent } from "./results.js";
import type { RunResult } from "./run-cap.js";
import { answerTokens, bodyOf, capFor, figuresOf, noneServed, servedIn } from "./work.js";

t.test("a cap is for what so many requests use on average", async (t) => {
  t.same(capFor("requests", 100), { unit: "requests", amount: 100 });
  t.same(capFor("tokens", 100), { unit: "tokens", amount: 10_000 });
  t.same(capFor("dollars", 100), { unit: "dollars", amount: 0.64 });
  t.same(capFor("slots", 100), { unit: "slots", amount: 10 });
  const answers = Array.from({ length: 10_000 }, (_, n) => answerTokens(bodyOf(n, "m")));
  t.same([Math.min(...answers), Math.max(...answers)], [20, 100]);
  const mean = answers.reduce((sum, tokens) => sum + tokens, 0) / answers.length;
  t.ok(Math.abs(mean - 60) < 1, `${mean}`);
});

t.test("what was served is compared in the unit of the cap", async (t) => {
  const served = {
    ...noneServed,
    requests: 130,
    promptTokens: 5_200,
    outputTokens: 7_800,
    peak: 9,
  };
  t.equal(servedIn("requests", served), 130);
  t.equal(servedIn("tokens", served), 13_000);
  t.equal(servedIn("dollars", served).toFixed(3), "0.832");
  t.equal(servedIn("slots", served), 9);
  const cap = capFor("tokens", 100);
  const over = figuresOf({ cap, served, busyShare: null, killed: false });
  t.same([over.overshoot.toFixed(2), over.utilisation], ["0.30", 1]);
  t.same([over.lost, over.doubled], [null, null]);
  const under = { ...served, promptTokens: 1_000, outputTokens: 8_000 };
  t.match(figuresOf({ cap, served: under, busyShare: null, killed: true }), {
    overshoot: 0,
    utilisation: 0.9,
    lost: 0,
  });
  t.match(figuresOf({ cap: capFor("slots", 100), served, busyShare: 0.8, killed: true }), {
    overshoot: 0,
    utilisation: 0.8,
  });
});

t.test("results are a row for each cap and gateway", async (t) => {
  const run = (unit: "requests" | "dollars", streams: number, share: number): RunResult => {
    const cap = capFor(unit, 100);
    const figures = { overshoot: Math.max(0, share - 1), utilisation: Math.min(1, share) };
    return {
      ...{ cap, streams, killed: false, served: share * cap.amount, unfinished: false },
      ...{ sent: 9, admitted: 8, refused: 1, broken: 0, statuses: {}, lost: null, doubled: null },
      ...figures,
    };
  };
  const killed: RunResult = { ...run("requests", 10, 1.07), killed: true, lost: 0.07, doubled: 0 };
  const results: GatewayResults[] = [
    {
      ...{ name: "Ours", version: "1", configured: "as it is", measured: "2026-01-02, load 1" },
      units: ["requests", "dollars"],
      runs: [run("requests", 1, 1), run("requests", 50, 1.5), killed, run("dollars", 50, 0.63)],
    },
  ];
  t.equal(capText(capFor("tokens", 100)), "10,000 tokens");
  t.same([0.0123, 0.5, 0.993, 1, 1.021, 3.2].map(percent), [
    ...["1.2%", "50%", "99.3%", "100%", "102.1%", "320%"],
  ]);
  const head = "| cap | gateway | 1 stream | 50 streams | lost | doubled |";
  const rule = "| --- | --- | --- | --- | --- | --- |";
  const fresh = pageOf("", results);
  t.same(fresh.split("\n"), [
    ...[head, rule],
    "| 100 requests | Ours | 100% | 150% | 7% | 0% |",
    "| $0.64 | Ours |  | 63% |  |  |",
    "",
    "- **Ours** 1: as it is. 2026-01-02, load 1.",
  ]);
  t.equal(pageOf(fresh, results), fresh);
  const before = [
    ...[head, rule],
    "| 100 requests | Theirs | 101% |  |  |  |",
    "| 20 requests | Ours | 90% | 91% |  |  |",
    "| $0.64 | Ours | 1% | 1% | 1% | 1% |",
    "",
    "- **Ours** 0: as it was. 2025.",
    "- **Theirs** 2: as it is.",
  ].join("\n");
  t.same(pageOf(before, results).split("\n"), [
    ...[head, rule],
    "| 20 requests | Ours | 90% | 91% |  |  |",
    "| 100 requests | Ours | 100% | 150% | 7% | 0% |",
    "| 100 requests | Theirs | 101% |  |  |  |",
    "| $0.64 | Ours |  | 63% |  |  |",
    "",
    "- **Ours** 1: as it is. 2026-01-02, load 1.",
    "- **Theirs** 2: as it is.",
  ]);
  const columns = before.replace("50 streams", "60 streams");
  t.throws(() => pageOf(columns, results), /columns cap, gateway, 1 stream, 60 streams, lost/);
  t.match(describeTable(results), /Ours +100 requests +10 +yes +9 +8 +1 +0 +107 +7% +100% +7% +0%/);
});
