import t from "tap";
import { eventsSince, type Newest, type TailCursor } from "../../../bin/live/tail-cursor.js";

const nothing: TailCursor = { recordId: null, refusedAt: "", refusalsThatTime: 0 };

function newest(
  records: readonly (readonly [id: string, time: string])[],
  refusals: readonly string[],
  more = false,
): Newest {
  return {
    records: records.map(([id, time]) => ({ id, time })) as unknown as Newest["records"],
    hasMoreRecords: more,
    refusals: refusals.map((at) => ({ refused_at: at })) as unknown as Newest["refusals"],
    hasMoreRefusals: false,
  };
}

t.test("each request and refusal is printed once, in the order of time", async (t) => {
  const first = eventsSince(
    nothing,
    newest(
      [
        ["1.1", "t2"],
        ["1.0", "t1"],
      ],
      ["t1"],
    ),
  );
  t.same(first.events.map(({ kind, at }) => `${kind} ${at}`).sort(), [
    "refusal t1",
    "request t1",
    "request t2",
  ]);
  t.equal(first.events.at(-1)?.at, "t2");
  const second = eventsSince(
    first.next,
    newest(
      [
        ["10.0", "t4"],
        ["2.0", "t3"],
        ["1.1", "t2"],
      ],
      ["t3", "t1", "t1"],
    ),
  );
  // One more was refused in the moment that was the last.
  t.same(second.events.map(({ kind, at }) => `${kind} ${at}`).sort(), [
    "refusal t1",
    "refusal t3",
    "request t3",
    "request t4",
  ]);
  const third = eventsSince(second.next, newest([["10.0", "t4"]], ["t3", "t1", "t1"]));
  t.same(third.events, []);
  t.equal(third.hasMissed, false);
});

t.test("a gap is reported", async (t) => {
  const { next } = eventsSince(nothing, newest([["1.0", "t1"]], []));
  t.equal(
    eventsSince(
      next,
      newest(
        [
          ["9.0", "t9"],
          ["8.0", "t8"],
        ],
        [],
        true,
      ),
    ).hasMissed,
    true,
  );
  t.equal(
    eventsSince(
      next,
      newest(
        [
          ["9.0", "t9"],
          ["1.0", "t1"],
        ],
        [],
        true,
      ),
    ).hasMissed,
    false,
  );
  t.same(eventsSince(next, newest([], [])).next, next);
});
