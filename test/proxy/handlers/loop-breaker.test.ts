import { createHash } from "node:crypto";
import t from "tap";
import type { JsonOperation } from "../../../proxy/body/model-body.js";
import { noLongTexts } from "../../../proxy/body/repeated-turns.js";
import { repeatedRequestMs, repeatedRequestsMax } from "../../../proxy/bounds.js";
import { LoopBreaker, loopFailure, loopHeader } from "../../../proxy/handlers/loop-breaker.js";
import { type LoopRule, loopTimesOf } from "../../../shared/domain/loop-rule.js";

import { requestSamples } from "../../fuzz/samples/request-samples.js";
import { cases } from "../../outside/cases.js";
import { conversationDialects } from "../../support/loop-conversations.js";

type Fields = Readonly<Record<string, unknown>>;

const digest = (head: string, body: Buffer): string =>
  createHash("sha256").update(head).update("\n").update(body).digest("base64url");
const rule: LoopRule = {
  ...{ warn_after: 3, refuse_after: 5, compare_results: true },
  ...{ warn_after_turns: 0, refuse_after_turns: 0 },
};
const breaker = (changed: Partial<LoopRule> = {}): LoopBreaker => {
  const times = loopTimesOf([{ ...rule, ...changed }]);
  return new LoopBreaker(digest, () => times);
};
const caller = { userPath: "/team", credential: "none" };
const who = { caller, session: "s", model: "m" };

/** An agent that calls a tool with these results, one after the other. */
function agent(results: readonly string[], name = "f"): Fields {
  return {
    messages: [
      { role: "user", content: "Do it." },
      ...results.flatMap((result, i) => [
        {
          role: "assistant",
          tool_calls: [{ id: `c${i}`, type: "function", function: { name, arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: `c${i}`, content: result },
      ]),
    ],
  };
}
const same = (count: number): readonly string[] => Array<string>(count).fill("x");
const turnIn = (loops: LoopBreaker, fields: Fields) =>
  loops.read("chat_completions", fields, noLongTexts)!;

t.test("turns are warned of from one number on, and refused from another", async (t) => {
  const loops = breaker();
  const verdicts = [1, 2, 3, 4, 5, 6].map((count) => {
    const watched = loops.watch(turnIn(loops, agent(same(count))), who, 0);
    const judged = loops.judge(watched, rule);
    t.equal(loops.suspects(watched), judged !== null, `${count}`);
    return judged?.isRefused;
  });
  t.same(verdicts, [undefined, undefined, false, false, true, true]);
});

t.test("0 is never, and without any rule nothing is read", async (t) => {
  const loops = breaker();
  const verdict = (changed: Partial<LoopRule>, count: number): boolean | undefined =>
    loops.judge(loops.watch(turnIn(loops, agent(same(count))), who, 0), { ...rule, ...changed })
      ?.isRefused;
  for (const [changed, count, refused] of [
    [{ warn_after: 0, refuse_after: 0 }, 5, undefined],
    [{ warn_after: 0, refuse_after: 2 }, 1, undefined],
    [{ warn_after: 0, refuse_after: 2 }, 2, true],
    [{ warn_after: 4, refuse_after: 0 }, 3, undefined],
    [{ warn_after: 4, refuse_after: 0 }, 4, false],
  ] as const)
    t.equal(verdict(changed, count), refused, `${JSON.stringify(changed)} ${count}`);
  let times: { min: number; max: number } | null = null;
  const idle = new LoopBreaker(digest, () => times);
  const read = () => idle.read("chat_completions", agent(same(9)), noLongTexts);
  t.equal(read(), null);
  times = { min: 2, max: 4 };
  const watched = idle.watch(read()!, null, 0);
  t.equal(watched.turn.repeated?.times, 4, "as many as decide");
  t.ok(idle.suspects(watched));
  times = null;
  t.notOk(idle.suspects(watched), "the last rule was deleted while it was read");
});

t.test(
  "many turns are warned of and refused, whatever they do; repetitions come first",
  async (t) => {
    const growing = { warn_after_turns: 4, refuse_after_turns: 6 };
    const results = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);
    const judge = (changed: Partial<LoopRule>, given: readonly string[]) => {
      const loops = breaker(changed);
      const watched = loops.watch(turnIn(loops, agent(given)), who, 0);
      const judged = loops.judge(watched, { ...rule, ...changed });
      if (judged !== null) t.ok(loops.suspects(watched));
      return judged;
    };
    const never = { warn_after: 0, refuse_after: 0 };
    for (const only of [growing, { ...growing, ...never }])
      t.same(
        [3, 4, 5, 6, 7].map((count) => {
          const { isRefused, loop } = judge(only, results(count)) ?? {};
          return loop === undefined ? null : `${isRefused} ${loopHeader(loop)}`;
        }),
        [
          null,
          "false growth; turns=4",
          "false growth; turns=5",
          "true growth; turns=6",
          "true growth; turns=6",
        ],
      );
    t.equal(judge({ ...growing, warn_after_turns: 0 }, results(5)), null);
    t.equal(judge({ ...never, ...growing, refuse_after_turns: 0 }, results(9))?.isRefused, false);
    const mixed = (same: number): readonly string[] => [...results(5), ...Array(same).fill("x")];
    t.match(judge({ warn_after_turns: 5 }, mixed(3)), { loop: { kind: "turns", times: 3 } });
    t.match(judge(growing, mixed(3)), { isRefused: true, loop: { kind: "growth" } });
    t.match(judge(growing, mixed(5)), { isRefused: true, loop: { kind: "turns", times: 5 } });
  },
);

t.test("whatever the results are, the same calls count where an entry says so", async (t) => {
  const results = ["1", "2", "3", "4", "5"];
  for (const [compares, expected] of [
    [true, null],
    [false, { isRefused: true, loop: { kind: "turns", times: 5, turns: 1 } }],
  ] as const) {
    const loops = breaker();
    const watched = loops.watch(turnIn(loops, agent(results)), who, 0);
    t.match(loops.judge(watched, { ...rule, compare_results: compares }), expected);
  }
});

t.test("a request that is sent again after its answer counts, one after the other", async (t) => {
  const loops = breaker();
  const turn = turnIn(loops, agent(["x"]));
  let nowMs = 0;
  const send = (startedMs = nowMs, completes = true): number => {
    const watched = loops.watch(turn, who, startedMs);
    nowMs += 10;
    if (completes) loops.noteAnswer(watched, startedMs, nowMs);
    return watched.sent;
  };
  t.same([send(), send(), send()], [1, 2, 3]);
  t.same([send(nowMs, false), send(nowMs, false)], [4, 4], "failures and retries don't count");
  const together = [1, 2].map(() => loops.watch(turn, who, nowMs));
  for (const watched of together) loops.noteAnswer(watched, nowMs, nowMs + 10);
  t.same(
    together.map(({ sent }) => sent),
    [4, 4],
  );
  nowMs += 10;
  t.match(loops.judge(loops.watch(turn, who, nowMs), rule), {
    isRefused: true,
    loop: { kind: "request", times: 5 },
  });
  nowMs += repeatedRequestMs;
  t.equal(send(), 1, "forgotten after a while");
});

t.test("requests of other callers, sessions and models are others", async (t) => {
  const loops = breaker();
  const turn = turnIn(loops, agent(["x"]));
  loops.noteAnswer(loops.watch(turn, who, 0), 0, 1);
  for (const [other, sent] of [
    [who, 2],
    [{ ...who, session: "t" }, 1],
    [{ ...who, model: "n" }, 1],
    [{ ...who, caller: { ...caller, userPath: "/b" } }, 1],
    [{ ...who, caller: { ...caller, credential: "k" } }, 1],
  ] as const)
    t.equal(loops.watch(turn, other, 2).sent, sent);
  t.equal(loops.watch(turnIn(loops, agent(["y"])), who, 2).sent, 1);
});

t.test(
  "the same words in another conversation, whose calls have other ids, don't count",
  async (t) => {
    const loops = breaker();
    const sent = (id: string, session: string): number => {
      const call = { id, type: "function", function: { name: "f", arguments: "{}" } };
      const messages = [
        { role: "user", content: "Do it." },
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: id, content: "x" },
      ];
      const watched = loops.watch(turnIn(loops, { messages }), { ...who, session }, 0);
      loops.noteAnswer(watched, 0, 0);
      return watched.sent;
    };
    t.same(
      ["a", "b", "c", "a"].map((id) => sent(id, "")),
      [1, 1, 1, 2],
      "samples of an evaluation",
    );
    t.same(
      ["", "", ""].map((id) => sent(id, "")),
      [0, 0, 0],
      "without ids they can't be told apart",
    );
    t.same(
      ["", "", ""].map((id) => sent(id, "s")),
      [1, 2, 3],
      "unless they name their session",
    );
  },
);

t.test("a request without results of tools isn't remembered, as often as it comes", async (t) => {
  const loops = breaker();
  const bodies: readonly Fields[] = [
    { messages: [{ role: "user", content: "Is this spam?" }] },
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
        { role: "user", content: "How are you?" },
      ],
    },
  ];
  for (const fields of bodies) {
    const turn = loops.read("chat_completions", fields, noLongTexts);
    for (let i = 0; i < 9 && turn !== null; i++) {
      const watched = loops.watch(turn, who, i);
      t.notOk(loops.suspects(watched));
      loops.noteAnswer(watched, i, i);
    }
  }
  t.equal(loops.read("embeddings", { input: ["x"] }, noLongTexts), null);
});

t.test("long texts tell requests apart, by their beginning, end and length", async (t) => {
  const loops = breaker();
  const digestOf = (bytes: Buffer): string | null => {
    const texts = { isSame: () => false, bytesOf: (text: string) => (text === "x" ? bytes : null) };
    return loops.read("chat_completions", agent(["x"]), texts)!.digest;
  };
  const long = Buffer.alloc(100_000, "a");
  const once = digestOf(long);
  t.equal(digestOf(Buffer.from(long)), once);
  for (const at of [0, long.length - 1]) {
    const other = Buffer.from(long);
    other[at] = 0x62;
    t.not(digestOf(other), once);
  }
  t.not(digestOf(long.subarray(1)), once);
});

t.test("arguments nested without end are no reason to fail", async (t) => {
  let deep: unknown = "x";
  for (let i = 0; i < 50_000; i++) deep = [deep];
  const messages = [
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input: deep }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }] },
  ];
  t.equal(breaker().read("messages", { messages }, noLongTexts)?.digest, null);
});

t.test("the least recent request is forgotten beyond the bound", async (t) => {
  const loops = breaker();
  const turn = turnIn(loops, agent(["x"]));
  const send = (session: string): number => {
    const watched = loops.watch(turn, { ...who, session }, 0);
    loops.noteAnswer(watched, 0, 0);
    return watched.sent;
  };
  send("a");
  send("b");
  for (let i = 0; i < repeatedRequestsMax - 2; i++) send(`s${i}`);
  t.equal(send("a"), 2);
  send("one more");
  t.equal(send("b"), 1, "forgotten");
  t.equal(send("a"), 3, "kept, since it was used");
});

t.test("the header and the error say what is repeated", async (t) => {
  const turns = { kind: "turns", times: 20, turns: 1, tools: ["read_file"] } as const;
  const end = "To continue, add a message to the conversation or start a new one";
  t.equal(loopHeader(turns), "turns; times=20; length=1");
  t.match(loopFailure(turns), {
    status: 400,
    type: "invalid_request_error",
    code: "loop_detected",
    message: `the agent repeats itself: its last 20 turns are the same (read_file). ${end}`,
  });
  const tools = ["a", "lÃ¤nge", "x".repeat(100), "d", "e"];
  t.equal(
    loopFailure({ kind: "turns", times: 7, turns: 2, tools }).message,
    `the agent repeats itself: it has gone through the same 2 turns 7 times (a, länge, ${"x".repeat(64)}, d). ${end}`,
  );
  t.equal(
    loopFailure({ kind: "turns", times: 7, turns: 1, tools: [] }).message,
    `the agent repeats itself: its last 7 turns are the same. ${end}`,
  );
  const request = { kind: "request", times: 9, turns: 0, tools: [] } as const;
  t.equal(loopHeader(request), "request; times=9");
  const growth = { kind: "growth", times: 300, turns: 0, tools: [] } as const;
  t.equal(loopHeader(growth), "growth; turns=300");
  t.equal(
    loopFailure(growth).message,
    `the agent has worked for 300 turns since the last message of the user. ${end}`,
  );
  t.equal(
    loopFailure(request).message,
    `the agent repeats itself: it has sent this request 9 times. ${end}`,
  );
});

t.test("requests of real clients, as reports and samples have them, are no loops", async (t) => {
  const loops = breaker();
  let conversations = 0;
  const look = (operation: JsonOperation, fields: Fields, what: string): void => {
    const turn = loops.read(operation, fields, noLongTexts);
    if (turn === null) return;
    conversations++;
    t.notOk(loops.suspects(loops.watch(turn, null, 0)), what);
  };
  for (const { operation, body } of requestSamples) look(operation, body, operation);
  for (const { id, request } of cases)
    for (const { operation, path, list } of conversationDialects)
      if (request.path.startsWith(path.slice(0, 7)) && request.body?.[list] !== undefined)
        look(operation, request.body, id);
  t.ok(conversations > 20, `${conversations} conversations`);
});
