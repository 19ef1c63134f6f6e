import fc from "fast-check";
import t from "tap";
import {
  costPicoUsdMax,
  requestIdCharsMax,
  subjectBytesMax,
  tokensPerResponseMax,
} from "../../../shared/bounds.js";
import { callsPerResponseMax } from "../../../shared/usage/usage-details.js";
import { type Execution, flawOf, sessionCharsMax } from "../../../shared/wire/execution.js";
import { parseToDaemon, type ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { executed, executedFlat, execution } from "./message-samples.js";

/** A settle's frame with a record; `at` exchanges one of its fields. */
const settleWith = (record: readonly unknown[]): unknown => [
  "settle",
  1,
  "request",
  5,
  "/team",
  7,
  8,
  ["openai", "gpt-4o"],
  9,
  10,
  9,
  2,
  30,
  true,
  record,
];

/** The fields before those that may be omitted. */
const requiredFields = 24;

const changedAt = (at: number, value: unknown): unknown =>
  settleWith(executedFlat.map((item, i) => (i === at ? value : item)));

const recordIn = (frame: unknown): Execution =>
  (parseToDaemon(frame) as Extract<ToDaemon, { kind: "settle" }>).record!;

t.test(
  "the record of a settle is refused when a field has another type, or is missing",
  async (t) => {
    t.same(recordIn(settleWith(executedFlat)), executed);
    for (const [at, item] of executedFlat.slice(0, requiredFields).entries()) {
      const kinds = ["text", 5, true, null, undefined, {}, [], 1n].filter(
        (value) =>
          typeof value !== typeof item && !(value === null && [10, 11, 12, 15, 17].includes(at)),
      );
      t.same(
        kinds.filter((value) => parseToDaemon(changedAt(at, value)) !== null),
        [],
        `field ${at}`,
      );
    }
    t.same(recordIn(settleWith([...executedFlat, 1])), executed, "one more is a later release's");
    t.equal(
      parseToDaemon(settleWith(executedFlat.slice(0, requiredFields - 1))),
      null,
      "one less than required",
    );
    for (let at = requiredFields; at < executedFlat.length; at++) {
      const isText = typeof executedFlat[at] === "string";
      t.equal(parseToDaemon(changedAt(at, isText ? 5 : "x")), null, `field ${at} of another type`);
      t.equal(flawOf(recordIn(settleWith(executedFlat.slice(0, at)))), null, `without field ${at}`);
    }
    t.equal(parseToDaemon(changedAt(requiredFields, "guess")), null, "no source of a cost");
    for (const atMost of [null, [90], ["90", 700], [90, "700"]])
      t.equal(parseToDaemon(changedAt(21, atMost)), null, JSON.stringify(atMost));
  },
);

t.test(
  "a record with an invalid value is accepted, so that its settle can be counted, and the field is named",
  async (t) => {
    const notCounts = [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY];
    const notTokens = [...notCounts, tokensPerResponseMax + 1];
    const notCosts = [...notCounts, costPicoUsdMax + 1];
    const long = "x".repeat(subjectBytesMax + 1);
    const table: readonly (readonly [at: number, flaw: string, values: readonly unknown[]])[] = [
      [0, "requestId", ["", "x".repeat(requestIdCharsMax + 1)]],
      [1, "endpoint", ["", long]],
      [2, "provider", ["", long, "p\u0000"]],
      [3, "providerType", ["", long]],
      [4, "model", [long, "m\u0000", "m\ud800"]],
      [5, "status", [...notCounts, 1000]],
      [6, "inputTokens", notTokens],
      [6, "cachedInputTokens", [4]],
      [6, "cacheWriteInputTokens", [7]],
      [7, "outputTokens", notTokens],
      [8, "cachedInputTokens", notTokens],
      [9, "cacheWriteInputTokens", [...notTokens, 16]],
      [10, "inputCost", [...notCosts, null]],
      [11, "outputCost", [...notCosts, null]],
      [12, "totalCost", notCosts],
      [12, "inputCost", [null]],
      [14, "rewriteTokensSaved", notTokens],
      [15, "rewriteCostSaved", notCosts],
      [16, "latencyMs", notCounts],
      [17, "firstByteMs", notCounts],
      [18, "keyId", ["x".repeat(65)]],
      [19, "requestedModel", [long, "m\u0000"]],
      [21, "atMost", [...notCounts, 5 * tokensPerResponseMax].map((tokens) => [tokens, 700])],
      [21, "atMost", notCosts.map((cost) => [90, cost])],
      [23, "session", ["grüße", "x".repeat(sessionCharsMax + 1), 's"', "s\u0000"]],
      [25, "priceList", ["x".repeat(65), "\u0000"]],
      [26, "providerRequestId", ["x".repeat(requestIdCharsMax + 1), "\u0000"]],
      [27, "providerKey", ["x".repeat(65), "\u0000"]],
      [28, "loop", notCounts],
      [29, "batchTokens", notCounts],
      [
        30,
        "toolCalls",
        [
          ["web_search", 0],
          ["", 1],
          ["a", callsPerResponseMax + 1],
        ],
      ],
      [31, "cutBy", [long, "a\u0000"]],
      [20, "cacheWrite1hTokens", notTokens.map((value) => [null, null, value])],
      [20, "webSearches", [[null, null, 0, 0, 0, 0, 0, 0, 0, 0, callsPerResponseMax + 1]]],
    ];
    for (const [at, flaw, values] of table)
      t.same(
        values.map((value) => flawOf(recordIn(changedAt(at, value)))),
        values.map(() => flaw),
        `field ${at}`,
      );
    const longest = "x".repeat(subjectBytesMax);
    const costs = [0, costPicoUsdMax];
    for (const [at, values] of [
      [0, ["x".repeat(requestIdCharsMax)]],
      [1, [longest]],
      [2, [longest]],
      [3, [longest, "t\u0000"]],
      [4, ["", longest]],
      [5, [0, 999]],
      [6, [8, tokensPerResponseMax]],
      [7, [0, tokensPerResponseMax]],
      [9, [15]],
      [10, costs],
      [11, costs],
      [12, costs],
      [14, [0, tokensPerResponseMax]],
      [15, [null, ...costs]],
      [16, [0, Number.MAX_SAFE_INTEGER]],
      [17, [null, 0]],
      [18, [""]],
      [19, ["", longest]],
    ] as const)
      t.same(
        values.map((value) => flawOf(recordIn(changedAt(at, value)))),
        values.map(() => null),
        `field ${at}`,
      );
    const unpriced = { ...executed, inputCost: null, outputCost: null, totalCost: null };
    t.equal(flawOf(unpriced), null);
    t.equal(flawOf({ ...unpriced, outputCost: 1 }), "outputCost");
    t.equal(flawOf({ ...executed, inputTokens: 5, cacheWriteInputTokens: 0 }), null, "all cached");
    fc.assert(fc.property(execution, (record) => flawOf(record) === null));
    t.equal(flawOf(recordIn(changedAt(18, "x".repeat(64)))), null, "as long as it may be");
  },
);
