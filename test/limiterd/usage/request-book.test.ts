import t from "tap";
import type { ListQuery } from "../../../limiterd/lists/list-query.js";
import type { Change } from "../../../limiterd/store/store.js";
import { RequestBook } from "../../../limiterd/usage/request-book.js";
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
  return { after: null, limit: 200, search: "", chosen, ...more };
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
    book.list(some, 0).requests.map(({ request_id }) => request_id);
  t.same(ids(query()), ["d", "r4", "r3", "r2", "r1", "r0"]);
  t.same(ids(query({ kind: "denied" })), ["d"]);
  t.same(ids(query({}, { search: "team/3" })), ["r3"]);
  const page = book.list(query({}, { limit: 4 }), 0);
  t.not(page.next, null);
  t.same(ids(query({}, { limit: 4, after: page.next })), ["r1", "r0"]);
});

t.test("with 0 nothing is kept", async (t) => {
  t.same(new RequestBook(0).add(report("a"), 1), []);
});
