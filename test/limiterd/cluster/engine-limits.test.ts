/** What becomes of questions that the engine doesn't answer, or not with sense. */
import t from "tap";
import {
  EngineAwayError,
  EngineRefusedError,
  type EngineState,
  type EngineValue,
} from "../../../limiterd/cluster/engine/engine.js";
import { createEngineLimits } from "../../../limiterd/cluster/engine-limits.js";
import type { SyncQuestion } from "../../../limiterd/cluster/shared-limits.js";

const connected: EngineState = { kind: "connected", epoch: "e", serversAway: [] };
const gone: EngineState = { kind: "away", reason: "gone", sinceMs: 0 };
const synced = [0, 1000, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0];

/** Each counter by its child, with what the engine answers about it. */
function asked(answers: Readonly<Record<string, EngineValue | Error>>, state = connected) {
  const refused: string[] = [];
  const limits = createEngineLimits(
    {
      state,
      async call(_script, [key]) {
        const answer = answers[key!.slice(key!.indexOf("\n") + 1)]!;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    {
      clusterName: "c",
      hostId: "a",
      start: 1,
      onRefused: (reason) => void refused.push(reason),
    },
  );
  return { refused, replies: limits.sync(Object.keys(answers).map(questionOn)) };
}

function questionOn(child: string): SyncQuestion {
  return {
    ...{ ruleId: "r", child, generation: 0, seq: 1, syncedMs: 0, periodMs: 60_000 },
    ...{ capRequests: 5, capSlots: null, slots: { inUse: 0, wanted: 0 } },
    units: { window: 0, spent: 0, spentBefore: 0, held: 0, frozen: 0, frozenBefore: 0, wanted: 3 },
    tokens: { window: 0, current: 0, previous: 0 },
  };
}

t.test("an answer without sense is said, and the other counters go on", async (t) => {
  const { replies, refused } = asked({
    "/a": synced,
    "/b": "OK",
    "/c": [0, 1000, 0],
    "/d": synced.with(0, 9),
    "/e": synced.with(3, 1.5),
    "/f": new EngineRefusedError("it is full of stones"),
  });
  t.same(
    (await replies).map(({ status, granted }) => [status, granted]),
    [["synced", 3], ...Array(5).fill(["unusable", 0])],
  );
  t.equal(refused.length, 5);
  t.match(refused[0], /^an answer about a counter that isn't understood: "OK"$/);
  t.equal(refused[4], "it is full of stones");
});

t.test(
  "what a part of the engine doesn't answer is away alone, the whole engine all of it",
  async (t) => {
    const away = new EngineAwayError("gone");
    const { replies, refused } = asked({ "/a": synced, "/b": away });
    t.same(
      (await replies).map(({ status }) => status),
      ["synced", "away"],
    );
    await t.rejects(asked({ "/a": away, "/b": away }, gone).replies, away);
    await t.rejects(asked({ "/a": new Error("a bug") }).replies, /a bug/);
    t.same(refused, []);
  },
);
