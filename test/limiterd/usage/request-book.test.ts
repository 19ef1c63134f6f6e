import t from "tap";
import type { ListQuery } from "../../../limiterd/lists/list-query.js";
import type { Change } from "../../../limiterd/store/store.js";
import { RequestBook } from "../../../limiterd/usage/request-book.js";
import type { RequestPage } from "../../../shared/api/request-item.js";
import type { RequestReport } from "../../../shared/wire/request-report.js";
import { exactly } from "../../support/patterns/exactly.js";

function report(id: string, fields: Partial<RequestReport> = {}): RequestReport {
  return {
    request_id: id,
    kind: "failed",
    status: 503,
    outcome: "upstream_error",
    method: "POST",
    path: "/v1/chat/completions",
    duration_ms: 7,
    ...fields,
  };
}

function query(chosen: Record<string, string> = {}, more: Partial<ListQuery> = {}): ListQuery {
  return { after: null, limit: 200, search: "", userPath: "/", chosen, ...more };
}

/** What a store has after these changes. */
function applied(changes: readonly Change[]): Map<string | number, readonly unknown[]> {
  const entries = new Map<string | number, readonly unknown[]>();
  for (const { key, value } of changes)
    if (value === undefined) entries.delete(key);
    else entries.set(key, value);
  return entries;
}

t.test("the last requests are kept, and unknown callers can't displace them", async (t) => {
  const book = new RequestBook(4);
  const changes: Change[] = [];
  for (let i = 0; i < 6; i++) changes.push(...book.add(report(`failed_${i}`), i));
  for (let i = 0; i < 100; i++)
    changes.push(...book.add(report(`denied_${i}`, { kind: "denied", status: 401 }), 10 + i));
  t.equal(book.size, 5);
  t.equal(applied(changes).size, 5);
  t.equal(book.find("failed_1"), null);
  t.match(
    book.find("failed_2"),
    exactly({ request_id: "failed_2", status: 503, attempts: [], note: null }),
  );
  t.equal(book.find("denied_98"), null);
  t.match(book.find("denied_99"), { kind: "denied" });
});

t.test("a restart reads them, and removes what it can't read", async (t) => {
  const first = new RequestBook(10);
  const changes = [...first.add(report("a"), 1), ...first.add(report("b", { note: "n" }), 2)];
  const entries = [...applied(changes)].map(([key, value]) => ({ key, value }));
  const odd = { key: 9, value: [3, { request_id: 7 }] };
  const second = new RequestBook(10);
  t.same(second.restore({ entries: () => [...entries, odd] }), [
    { table: "requests", key: 9, value: undefined },
  ]);
  t.match(second.find("b"), { note: "n", time: "1970-01-01T00:00:00.002Z" });
  // A new one doesn't overwrite an earlier one.
  t.equal(second.add(report("c"), 3)[0]?.key, 3);
  const smaller = new RequestBook(1);
  t.same(smaller.restore({ entries: () => entries }), [
    { table: "requests", key: 1, value: undefined },
  ]);
});

t.test("a list has pages, newest first, of one kind or with a text", async (t) => {
  const book = new RequestBook(100);
  for (let i = 0; i < 5; i++) book.add(report(`r${i}`, { user_path: `/team/${i}` }), i);
  book.add(report("d", { kind: "denied" }), 9);
  const ids = (some: ListQuery): string[] =>
    book.list(some, 0)!.requests.map(({ request_id }) => request_id);
  t.same(ids(query()), ["d", "r4", "r3", "r2", "r1", "r0"]);
  t.same(ids(query({ kind: "denied" })), ["d"]);
  t.same(ids(query({}, { search: "team/3" })), ["r3"]);
  const page = book.list(query({}, { limit: 4 }), 0)!;
  t.not(page.next, null);
  t.same(ids(query({}, { limit: 4, after: page.next })), ["r1", "r0"]);
});

t.test("with 0 nothing is kept", async (t) => {
  t.same(new RequestBook(0).add(report("a"), 1), []);
});

t.test("neither refusals nor traced successes displace failures", async (t) => {
  const book = new RequestBook(4);
  const changes = [...book.add(report("failed"), 0)];
  for (const [i, kind] of (["refused", "answered", "invalid", "canceled"] as const).entries())
    for (let j = 0; j < 10; j++) changes.push(...book.add(report(`${kind}_${j}`, { kind }), i + 1));
  t.match(book.find("failed"), { kind: "failed" });
  t.equal(applied(changes).size, 5);
});

t.test("a denied request hides no other that has its id", async (t) => {
  const book = new RequestBook(4);
  book.add(report("same"), 1);
  book.add(report("same", { kind: "denied" }), 2);
  t.match(book.find("same"), { kind: "failed" });
  book.add(report("same", { kind: "refused" }), 3);
  t.match(book.find("same"), { kind: "refused" });
});

t.test("the order is that of the times, however late a proxy reports", async (t) => {
  const book = new RequestBook(4);
  const times = [50, 10, 40, 20, 30, 5];
  const changes = times.flatMap((at) => book.add(report(`at_${at}`), at));
  book.add(report("denied", { kind: "denied" }), 35);
  const newestFirst = ["at_50", "at_40", "denied", "at_30", "at_20"];
  t.same(
    book.list(query(), 0)?.requests.map(({ request_id }) => request_id),
    newestFirst,
  );
  t.equal(applied(changes).size, 4, "the oldest are removed, not the first that were reported");
  const paged: string[] = [];
  let after: string | null = null;
  do {
    const page: RequestPage = book.list(query({}, { limit: 1, after }), 0)!;
    paged.push(...page.requests.map(({ request_id }) => request_id));
    after = page.next;
  } while (after !== null);
  t.same(paged, newestFirst);
  const within = { fromMs: 20, beforeMs: 40 };
  t.same(
    book.list({ ...query(), ...within }, 0)?.requests.map(({ request_id }) => request_id),
    ["denied", "at_30", "at_20"],
  );
  t.same(
    [...book.since(30)].flat().map(({ atMs }) => atMs),
    [50, 40, 35, 30],
  );
});

t.test("a place that no page gave isn't one", async (t) => {
  const book = new RequestBook(4);
  for (const after of ["zzz", "", "1", "1-", "-1-2", "1-2-3", "1e9-1"])
    t.equal(book.list(query({}, { after }), 0), null, after);
});

t.test("a page of many requests examines only its own", async (t) => {
  const book = new RequestBook(3_000);
  for (let i = 0; i < 10_000; i++) book.add(report(`r${i}`), i);
  t.equal(book.size, 3_000);
  t.same(
    [...book.since(0)].map((batch) => batch.length),
    [1000, 1000, 1000],
  );
  t.equal(book.find("r6999"), null);
  t.match(book.find("r7000"), { request_id: "r7000" });
});

t.test("what names limits above a viewer is neither shown to it nor found by it", async (t) => {
  const book = new RequestBook(4);
  const refused = "rate limit exceeded for /t: day request limit of 5017 reached";
  book.add(
    report("r", {
      kind: "refused",
      status: 429,
      user_path: "/t/a",
      error_message: refused,
      note: `${refused}; m served the request`,
      rule: "user_path /t day requests",
      attempts: [{ target: "p/m", duration_ms: 1, reason: refused }],
    }),
    1,
  );
  const ofPath = query({}, { userPath: "/t/a" });
  const listed = book.list(ofPath, 2, "/t/a")?.requests;
  for (const item of [book.find("r", "/t/a", "/t/a"), listed?.[0]]) {
    t.match(item, { request_id: "r", error_message: /a limit above \/t\/a/, rule: null });
    t.notMatch(JSON.stringify(item), /5017|for \/t:/);
  }
  t.same(book.list({ ...ofPath, search: "5017" }, 2, "/t/a")?.requests, []);
  t.equal(book.list({ ...ofPath, search: "5017" }, 2, null)?.requests.length, 1);
  t.match(book.find("r"), { error_message: refused, rule: "user_path /t day requests" });
});
