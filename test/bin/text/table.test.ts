import t from "tap";
import { type Column, renderFields, renderTable } from "../../../bin/text/table.js";

t.test("what is in a cell or a value stays in its line and its column", async (t) => {
  const columns = [
    { title: "WHO", align: "left", text: (name: string) => name },
    { title: "N", align: "right", text: () => "1" },
  ] as const;
  t.equal(
    renderTable(columns, ["ann", "a\nmaster key  9", "b\t\r\u2028\u202e"]),
    [
      "WHO                    N",
      "ann                    1",
      "a\\nmaster key  9       1",
      "b\\t\\u000d\\u2028\\u202e  1",
    ].join("\n"),
  );
  t.equal(renderFields([["who", "a\nb"]]), "  who  a\\nb");
});

interface Row {
  readonly path: string;
  readonly used: number;
  readonly source: string;
  readonly why: string;
}

const columns: readonly Column<Row>[] = [
  { title: "PATH", align: "left", text: ({ path }) => path },
  {
    title: "USED",
    align: "right",
    text: ({ used }) => `${used}%`,
    tone: ({ used }) => (used >= 100 ? "bad" : null),
  },
  { title: "EMPTY", align: "left", text: () => "-" },
  { title: "SOURCE", align: "left", detail: true, text: ({ source }) => source },
  { title: "WHY", align: "left", wraps: true, text: ({ why }) => why },
];
const rows: readonly Row[] = [
  { path: "/tenants/acme", used: 7, source: "config sluice.yaml:19", why: "-" },
  {
    path: "/tenants/a-customer-with-a-long-name/app",
    used: 120,
    source: "manual",
    why: "budget exceeded for /tenants/a-customer-with-a-long-name/app monthly limit",
  },
];
const at = (width: number | null, colour = false): string =>
  renderTable(columns, rows, { width, colour });

t.test("a table fits its terminal: details go, sentences wrap, long names are cut", async (t) => {
  t.equal(at(null).split("\n")[0]?.replace(/ +/g, " "), "PATH USED EMPTY SOURCE WHY");
  t.equal(
    at(101),
    [
      "PATH                                      USED  SOURCE                 WHY",
      "/tenants/acme                               7%  config sluice.yaml:19  -",
      "/tenants/a-customer-with-a-long-name/app  120%  manual                 budget exceeded for",
      "                                                                       /tenants/a-customer-with-a-lon",
      "                                                                       g-name/app monthly limit",
    ].join("\n"),
  );
});

t.test("JSON breaks after its commas", async (t) => {
  const json =
    '{"scope":"user_path","subject":"/a","limit_key":{"period":"hour"},"max_requests":6}';
  const one: Column<string> = { title: "CHANGE", align: "left", wraps: true, text: (row) => row };
  t.equal(
    renderTable([one], [json], { width: 40, colour: false }),
    [
      "CHANGE",
      '{"scope":"user_path","subject":"/a",',
      '"limit_key":{"period":"hour"},',
      '"max_requests":6}',
    ].join("\n"),
  );
});

t.test("on a screen each row is one line, without a note", async (t) => {
  const lines = renderTable(columns, rows, { width: 60, colour: false, isScreen: true }).split(
    "\n",
  );
  t.equal(lines.length, 1 + rows.length);
  t.ok(lines.every((line) => line.length <= 60));
});

t.test("a line of a table is as wide as its terminal at most, at any width", async (t) => {
  for (let width = 52; width < 170; width++) {
    const lines = at(width).split("\n");
    t.ok(
      lines.every((line) => line.length <= width),
      `${width}:\n${lines.join("\n")}`,
    );
    t.match(lines.join("").replaceAll(/[^%]/g, ""), "%%", "each row is there");
  }
  t.match(at(80), /^\(--wide also shows SOURCE\)$/m);
  t.match(at(60), /^\(--wide also shows SOURCE, whole names\)$/m);
  t.match(at(60), /^\/tenants\/a.*….*\/app /m);
});

t.test("colours mark what warns, where there are any", async (t) => {
  t.notMatch(at(200), "\u001b");
  t.match(at(200, true), / {2}\u001b\[31m120%\u001b\[0m {2}/);
  t.notMatch(at(200, true), /\u001b\[\d+m7%/);
  t.equal(at(200, true).replaceAll(/\u001b\[\d+m/g, ""), at(200), "the columns stay");
});

t.test("characters of two columns keep the columns straight", async (t) => {
  const columns = [
    { title: "WHO", align: "left", text: (name: string) => name },
    { title: "N", align: "right", text: () => "1" },
  ] as const;
  t.equal(
    renderTable(columns, ["東京", "ann", "🙂", "e\u0301"]),
    ["WHO   N", "東京  1", "ann   1", "🙂    1", "e\u0301     1"].join("\n"),
  );
});
