import t from "tap";
import { listRecords } from "../../../limiterd/lists/list-records.js";
import { parseRecordQuery } from "../../../limiterd/lists/record-query.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import type { RecordPage } from "../../../shared/api/record-item.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, executed, refusal, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const dayMs = 86_400_000;

const record: UsageRecord = {
  ...executed(),
  atMs: 0,
  userPath: "/a",
  provider: "openai",
  model: "gpt-4o",
  estimated: false,
};

function add(daemon: TestDaemon, changes: Partial<UsageRecord>): void {
  daemon.state.usage.add({ ...record, atMs: daemon.nowMs, ...changes }, daemon.nowMs);
}

/** Closes the batch of what was added; it isn't committed yet. */
function closeBatch(daemon: TestDaemon): void {
  daemon.state.writer.journal("p", 1, () => {});
}

/** All pages, by the ids of the requests. */
async function listed(daemon: TestDaemon, body: Record<string, unknown> = {}): Promise<string[]> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page = (await ask(daemon, "usage.records", { ...body, after })) as unknown as RecordPage;
    if (typeof body["limit"] === "number") t.ok(page.records.length <= body["limit"]);
    ids.push(...page.records.map(({ request_id: id }) => id));
    after = page.next;
  } while (after !== null);
  return ids;
}

/** Batches of three records, two a day; of the last two, one isn't written yet, one not closed. */
async function withRecords(): Promise<{ readonly daemon: TestDaemon; readonly newest: string[] }> {
  const daemon = await startDaemon([], { nowMs: Date.parse("2026-03-10T12:00:20Z") });
  const all: string[] = [];
  for (let batch = 0; batch < 8; batch++) {
    for (let i = 0; i < 3; i++) {
      all.push(`r${batch}-${i}`);
      add(daemon, {
        requestId: `r${batch}-${i}`,
        userPath: i === 0 ? "/a/b" : "/c",
        provider: batch % 2 === 0 ? "OpenAI" : "groq",
        model: i === 1 ? "gpt-4o" : "llama",
        requestedModel: i === 2 ? "smart" : "",
        keyId: batch === 1 ? "key_2" : "",
        status: batch === 2 ? 429 : batch === 3 ? 503 : 200,
      });
    }
    if (batch < 7) closeBatch(daemon);
    if (batch < 6) await daemon.commit();
    // Closed, and not committed.
    if (batch === 6) daemon.state.writer.closeBatch();
    daemon.nowMs += dayMs / 2;
  }
  return { daemon, newest: all.reverse() };
}

t.test("records are listed newest first, written or not, in pages of any size", async (t) => {
  const { daemon, newest } = await withRecords();
  for (const limit of [1, 2, 3, 5, 200]) t.same(await listed(daemon, { limit }), newest);
  t.same(await listed(daemon), newest);
  const page = (await ask(daemon, "usage.records", { limit: 2 })) as unknown as RecordPage;
  t.match(
    page,
    exactly({
      records: [
        { id: "8.2", request_id: "r7-2", user_path: "/c", requested_model: "smart", status: 200 },
        { id: "8.1" },
      ],
      looked_back_to: "2026-03-14T00:00:20.000Z",
      next: "8.1",
    }),
  );
  // A disk that takes nothing hides nothing.
  daemon.store.broken = true;
  add(daemon, { requestId: "late" });
  closeBatch(daemon);
  add(daemon, { requestId: "later" });
  t.same(await listed(daemon, { limit: 4 }), ["later", "late", ...newest]);
});

t.test("pages stay right while records come and old ones are removed", async (t) => {
  const { daemon, newest } = await withRecords();
  const first = (await ask(daemon, "usage.records", { limit: 7 })) as unknown as RecordPage;
  add(daemon, { requestId: "new" });
  closeBatch(daemon);
  await daemon.commit();
  await daemon.store.commit([{ table: "usage", key: 1, value: undefined }]);
  const rest = await listed(daemon, { limit: 7 });
  t.same(rest.slice(0, 8), ["new", ...newest.slice(0, 7)]);
  const next = (await ask(daemon, "usage.records", {
    after: first.next,
  })) as unknown as RecordPage;
  t.same(
    next.records.map(({ request_id: id }) => id),
    newest.slice(7, -3),
  );
  t.equal(next.next, null);
});

t.test("filters name what they compare, each alone and together", async (t) => {
  const { daemon, newest } = await withRecords();
  const table: readonly (readonly [Record<string, string>, (id: string) => boolean])[] = [
    [{ user_path: "/a" }, (id) => id.endsWith("-0")],
    [{ user_path: "/a/bc" }, () => false],
    [{ provider: "openai" }, (id) => Number(id[1]) % 2 === 0],
    [{ model: "GPT-4o" }, (id) => id.endsWith("-1")],
    [{ model: "groq/gpt-4o" }, (id) => id.endsWith("-1") && Number(id[1]) % 2 === 1],
    [{ model: "smart" }, (id) => id.endsWith("-2")],
    [{ key: "key_2" }, (id) => id.startsWith("r1")],
    [{ key: "none" }, (id) => !id.startsWith("r1")],
    [{ status: "429" }, (id) => id.startsWith("r2")],
    [{ status: "5xx" }, (id) => id.startsWith("r3")],
    [{ request_id: "r4-1" }, (id) => id === "r4-1"],
    [{ request_id: "none" }, () => false],
    [{ start_date: "2026-03-12" }, (id) => Number(id[1]) >= 3],
    [{ end_date: "2026-03-11" }, (id) => Number(id[1]) < 3],
    [{ start_date: "2026-03-11", end_date: "2026-03-11" }, (id) => /^r[12]/.test(id)],
    [{ model: "llama", status: "2XX", user_path: "/c" }, (id) => /^r[014567]-2/.test(id)],
  ];
  for (const [filters, isWanted] of table)
    for (const limit of [1, 200])
      t.same(await listed(daemon, { ...filters, limit }), newest.filter(isWanted), show(filters));
});

const show = (value: unknown): string => JSON.stringify(value);

t.test("what isn't a filter is refused by its name, and no key is repeated", async (t) => {
  const daemon = await startDaemon([]);
  const secret = `sk-sluice-${"a".repeat(43)}`;
  const table: readonly (readonly [Record<string, unknown>, string, RegExp])[] = [
    [{ paths: "/" }, "paths", /^unknown parameter paths: expected after, limit, user_path/],
    [{ limit: 201 }, "limit", /^limit must be an integer from 1 to 200, not 201$/],
    [{ limit: "x" }, "limit", /not "x"$/],
    [{ after: "7" }, "after", /^after must be the next of the previous page$/],
    [{ user_path: "/a/../b" }, "user_path", /^user_path/],
    [{ start_date: "2026-02-30" }, "start_date", /such as 2026-01-31, not "2026-02-30"$/],
    [{ start_date: "2026-03-02", end_date: "2026-03-01" }, "start_date", /not be after end_date/],
    [{ model: "" }, "model", /^model must be a text of 1 to 1000 characters, not ""$/],
    [{ provider: 7 }, "provider", /not 7$/],
    [{ request_id: "x".repeat(1001) }, "request_id", /^request_id must be/],
    [{ status: "99" }, "status", /^status must be a status such as 429 or a class such as 5xx/],
    [{ status: "6xx" }, "status", /not "6xx"$/],
    [{ key: secret }, "key", /^key must be a key's id such as key_7, or none$/],
    [{ key: "key_0" }, "key", /^key must be/],
  ];
  for (const [body, param, message] of table)
    t.match(await refusal(ask(daemon, "usage.records", body)), { param, message }, show(body));
});

t.test(
  "a filter that matches nothing looks at a bounded number, and lets others pass",
  async (t) => {
    const daemon = await startDaemon([]);
    for (let batch = 0; batch < 100; batch++) {
      for (let i = 0; i < 500; i++) add(daemon, { requestId: `r${batch}-${i}` });
      closeBatch(daemon);
      await daemon.commit();
      daemon.nowMs += 1000;
    }
    let turns = 0;
    const reader = {
      ...daemon.state,
      yieldToEventLoop: () => {
        turns++;
        return daemon.state.yieldToEventLoop();
      },
    };
    const query = parseRecordQuery({ request_id: "none" });
    if (!query.ok) throw new Error(query.failure.message);
    const page = await listRecords(reader, query.value, daemon.nowMs);
    t.same(page.records, []);
    t.ok(page.next !== null && turns >= 15 && turns <= 25, `${turns} turns for 20,000 records`);
    let pages = 1;
    for (let { next } = page; next !== null; pages++)
      ({ next } = (await ask(daemon, "usage.records", {
        request_id: "none",
        after: next,
      })) as unknown as RecordPage);
    t.equal(pages, 3, "50,000 records");
  },
);

t.test("a page looks at fewer records where each has an entry of its own", async (t) => {
  const daemon = startDaemon([]);
  for (let i = 0; i < 4002; i++) {
    add(daemon, { requestId: `r${i}` });
    closeBatch(daemon);
    daemon.state.writer.closeBatch();
  }
  const { records, next } = await ask(daemon, "usage.records", { request_id: "r0" });
  t.same([records, next], [[], "3.0"], "4000 of them");
});

t.test("without usage there is nothing to list", async (t) => {
  const daemon = await startDaemon([], { usageEnabled: false });
  t.match(await refusal(ask(daemon, "usage.records", {})), { code: "feature_unavailable" });
});

t.test("where hosts share, a list and an export say that they are of this one alone", async (t) => {
  const daemon = startDaemon([]);
  const seen = async (): Promise<unknown[]> => [
    (await ask(daemon, "usage.records", {}))["scope"],
    (await ask(daemon, "usage.export", { user_path: "/" }))["scope"],
  ];
  t.same(await seen(), [undefined, undefined]);
  Object.assign(daemon.state.usage, { otherHosts: {} });
  t.same(await seen(), ["this_host", "this_host"]);
});
