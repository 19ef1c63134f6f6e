import t from "tap";
import {
  isByUse,
  isListed,
  itemsExaminedMax,
  matches,
  orders,
  pageOf,
  parseChildrenQuery,
  parseListQuery,
} from "../../../limiterd/lists/list-query.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { wholeList } from "./whole-list.js";

const choices = { scope: ["model", "user_path"] };

t.test("a body without fields asks for the first page of all", (t) => {
  for (const body of [null, {}, { after: null, limit: null, search: null, scope: null }])
    t.same(parseListQuery(body, choices), { ok: true, value: wholeList });
  t.same(parseListQuery({ after: "x", limit: 7, search: "Acme", scope: "model" }, choices), {
    ok: true,
    value: { after: "x", limit: 7, search: "acme", userPath: "/", chosen: { scope: "model" } },
  });
  t.end();
});

t.test("a page has from 1 item to as many as is said", async (t) => {
  for (const limit of [1, itemsPerPage])
    t.match(parseListQuery({ limit }, {}), { ok: true, value: { limit } });
});

t.test("of the fullest there is one page, so that there is none behind another", async (t) => {
  const use = { order: "use" };
  const byUse = parseListQuery(use, { order: orders });
  t.match(byUse, { ok: true, value: { after: null, chosen: use } });
  t.equal(byUse.ok && isByUse(byUse.value), true);
  t.match(parseListQuery({ ...use, after: "x" }, { order: orders }), {
    ok: false,
    failure: { param: "after", message: /order=name/ },
  });
  const byName = parseListQuery({ order: "name", after: "x" }, { order: orders });
  t.match(byName, { ok: true, value: { after: "x" } });
  t.equal(byName.ok && isByUse(byName.value), false);
});

t.test("a search may be as long as is said", async (t) => {
  const search = "x".repeat(200);
  t.match(parseListQuery({ search }, {}), { ok: true, value: { search } });
});

t.test("a list is narrowed by scope, source and search, all of them together", async (t) => {
  const item = { definition: { scope: "model", subject: "GPT-4o" }, source: "manual" };
  const narrowed = (search: string, chosen: Readonly<Record<string, string>>): boolean =>
    isListed(item, { ...wholeList, search, chosen });
  for (const [search, chosen, listed] of [
    ["", {}, true],
    ["gpt", {}, true],
    ["claude", {}, false],
    ["", { scope: "model" }, true],
    ["", { scope: "user_path" }, false],
    ["", { source: "manual" }, true],
    ["", { source: "config" }, false],
    ["gpt", { scope: "model", source: "config" }, false],
    ["gpt", { scope: "model", source: "manual" }, true],
    ["claude", { scope: "model", source: "manual" }, false],
  ] as const)
    t.equal(narrowed(search, chosen), listed, JSON.stringify([search, chosen]));
});

t.test("a field that makes no sense is named, with what was expected", (t) => {
  const table: readonly (readonly [body: unknown, param: string, message: RegExp])[] = [
    [[], "body", /must be a JSON object/],
    [{ after: 3 }, "after", /next of the previous page/],
    [{ limit: 0 }, "limit", /from 1 to 200, not 0/],
    [{ limit: itemsPerPage + 1 }, "limit", /not 201/],
    [{ limit: "many" }, "limit", /not "many"/],
    [{ search: "x".repeat(201) }, "search", /up to 200 characters/],
    [{ search: 1 }, "search", /a text/],
    [{ scope: "team" }, "scope", /one of model, user_path, not "team"/],
    [{ scope: ["model"] }, "scope", /one of model, user_path/],
    [
      { color: "red" },
      "color",
      /unknown parameter color: expected after, limit, search, user_path, scope/,
    ],
  ];
  for (const [body, param, message] of table)
    t.match(parseListQuery(body, choices), { ok: false, failure: { param, message } }, param);
  t.end();
});

t.test("a list of children is asked for by what names the template", async (t) => {
  t.same(parseChildrenQuery({ subject: "/a", limit: 7, search: "X" }), {
    ok: true,
    value: { key: { subject: "/a" }, query: { ...wholeList, limit: 7, search: "x" } },
  });
  for (const body of [null, undefined, 7, "x"])
    t.same(parseChildrenQuery(body), { ok: true, value: { key: {}, query: wholeList } });
  t.match(parseChildrenQuery({ limit: 0 }), { ok: false, failure: { param: "limit" } });
});

t.test("a search finds a part of a name, in capitals or not", (t) => {
  const search = { search: "acme" };
  t.ok(matches(search, "/customers/ACME/app"));
  t.notOk(matches(search, "/customers/acm"));
  t.ok(matches({ search: "" }, "anything"));
  t.end();
});

t.test("a page ends at its limit, at the end, or where enough was looked at", (t) => {
  const odd = (n: number): boolean => n % 2 === 1;
  t.same(pageOf([1, 2, 3, 4, 5], 0, 2, odd), { items: [1, 3], last: 3 });
  t.same(pageOf([1, 2, 3, 4, 5], 3, 2, odd), { items: [5], last: null });
  t.same(
    pageOf([1, 2, 3], 0, 3, () => true),
    { items: [1, 2, 3], last: null },
  );
  t.same(pageOf([], 0, 3, odd), { items: [], last: null });
  const many = Array.from({ length: itemsExaminedMax + 5 }, (_, n) => n);
  const none = pageOf(many, 0, 200, () => false);
  t.same(none, { items: [], last: itemsExaminedMax - 1 });
  t.same(
    pageOf(many, itemsExaminedMax, 200, () => false),
    { items: [], last: null },
  );
  t.end();
});
