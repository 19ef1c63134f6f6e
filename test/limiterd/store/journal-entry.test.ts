import t from "tap";
import {
  type JournalEntry,
  journalFromStored,
  journalToStored,
} from "../../../limiterd/store/journal-entry.js";
import { never, takenDespite } from "../../support/damaged-fields.js";

const entry: JournalEntry = {
  proxyId: "p1",
  seq: 1,
  part: "request",
  userPath: "/team",
  lsn: 2,
  requestAtMs: 3,
  target: { provider: "openai", model: "gpt-4o" },
  targetLsn: 4,
  targetAtMs: 5,
  endedAtMs: 6,
  tokens: 7,
};

t.test("settles come back as they went in, in their order", async (t) => {
  const entries = [entry, { ...entry, seq: 9, part: "attempt" as const, target: null }];
  t.strictSame(journalFromStored(journalToStored(entries)), entries);
  t.strictSame(journalFromStored([]), []);
});

t.test("nothing is taken for settles but what was written as such", async (t) => {
  const { text, count } = never;
  const [stored] = journalToStored([entry]) as [readonly unknown[]];
  const path = [...text, "", "team", "/team/", "/a//b"];
  const target = [1, true, null];
  const wrong = [text, count, [...text, "other"], path, count, count, target, target];
  t.strictSame(
    takenDespite(stored, [...wrong, count, count, count, count], (damaged) =>
      journalFromStored([stored, damaged]),
    ),
    [],
  );
  t.equal(journalFromStored([stored, null]), null);
  t.equal(journalFromStored([stored, {}]), null);
});
