import t from "tap";
import {
  childNameIn,
  childrenPrefix,
  dayIn,
  dayOfKey,
  daysUnder,
  isAtOrBelow,
  keysUnder,
  labelPrefix,
  modelIn,
  modelSuffix,
  modelsPrefix,
  originIn,
  originKey,
  originsUnder,
  totalPrefix,
} from "../../../limiterd/usage/rollup-keys.js";

const day = "2026-03-10";

t.test("every kind of key says what it is the sum of, and for which day", async (t) => {
  for (const [path, prefix] of [
    ["/", "t\n\n\n"],
    ["/team", "t\n/\nteam\n"],
    ["/team/app", "t\n/team\napp\n"],
    ["/a/b/c", "t\n/a/b\nc\n"],
  ] as const) {
    t.equal(totalPrefix(path), prefix);
    t.equal(dayOfKey(prefix + day), day);
    t.equal(dayIn(prefix + day, prefix), day);
  }
  t.equal(labelPrefix("prod"), "l\nprod\n");
  t.equal(dayOfKey(labelPrefix("prod") + day), day);
  t.equal(modelsPrefix("/team"), "m\n/team\n");
  const key = `${modelsPrefix("/team") + day}${modelSuffix("openai", "gpt-4o")}`;
  t.equal(key, `m\n/team\n${day}\nopenai\ngpt-4o`);
  t.equal(dayOfKey(key), day);
  t.equal(dayIn(key, modelsPrefix("/team")), day);
  t.same(modelIn(key, modelsPrefix("/team")), { provider: "openai", model: "gpt-4o" });
  t.equal(childNameIn(totalPrefix("/team/app") + day, childrenPrefix("/team")), "app");
  t.equal(dayOfKey("t\nunreadable"), "");
  const asked = originKey(day, { userPath: "/team", keyId: "key_1" }, modelSuffix("", "smart"));
  t.equal(asked, `o\n${day}\n/team\nkey_1\n\nsmart`);
  t.equal(dayOfKey(asked), day);
  const origin = { day, userPath: "/team", keyId: "key_1", provider: "", model: "smart" };
  t.same(originIn(asked), origin);
  for (const damaged of [key, "o\n", "o\n2026-03-10\n/team\nkey_1\nopenai"])
    t.equal(originIn(damaged), null);
});

t.test("the origins under a path are its own and those below it", async (t) => {
  const paths = ["/", "/tea", "/team", "/team-a", "/team/a", "/team/a/b", "/team0", "/teams"];
  const keyOf = (path: string): string =>
    originKey(day, { userPath: path, keyId: "" }, modelSuffix("openai", "m"));
  const under = (path: string): string[] =>
    paths.filter((each) =>
      originsUnder(day, path).some(
        ({ from, before }) => keyOf(each) >= from && keyOf(each) < before,
      ),
    );
  t.same(under("/"), paths);
  t.same(under("/team"), ["/team", "/team/a", "/team/a/b"]);
  t.same(under("/team/a"), ["/team/a", "/team/a/b"]);
  for (const path of paths)
    t.same(
      under(path),
      paths.filter((each) => isAtOrBelow(each, path)),
      path,
    );
});

t.test("a range of keys holds those of a prefix and its days, and no others", async (t) => {
  const keys = [
    totalPrefix("/team/a") + day,
    totalPrefix("/team/b") + day,
    totalPrefix("/team2/a") + day,
    totalPrefix("/tea/b") + day,
  ];
  const within = ({ from, before }: { from: string; before: string }): string[] =>
    keys.filter((key) => key >= from && key < before);
  t.same(within(keysUnder(childrenPrefix("/team"))), keys.slice(0, 2));
  const prefix = modelsPrefix("/team");
  const days = ["2026-03-09", "2026-03-10", "2026-03-11", "2026-03-12"].map(
    (each) => prefix + each + modelSuffix("openai", "gpt-4o"),
  );
  const range = daysUnder(prefix, "2026-03-10", "2026-03-11");
  t.same(
    days.filter((key) => key >= range.from && key < range.before),
    days.slice(1, 3),
  );
});

t.test("names that are too long for a key are cut to what fits, by their bytes", async (t) => {
  const suffix = (provider: string, model: string): string[] =>
    modelSuffix(provider, model).slice(1).split("\n");
  t.same(
    suffix("p".repeat(256), "m".repeat(600)),
    ["p".repeat(256), "m".repeat(600)],
    "the longest",
  );
  t.same(suffix("p".repeat(257), "m".repeat(601)), [`${"p".repeat(253)}…`, `${"m".repeat(597)}…`]);
  t.same(suffix("é".repeat(128), "大".repeat(200)), ["é".repeat(128), "大".repeat(200)]);
  t.same(suffix("é".repeat(129), "大".repeat(201)), [
    `${"é".repeat(126)}…`,
    `${"大".repeat(199)}…`,
  ]);
  t.same(suffix("abc", "大".repeat(400)), ["abc", `${"大".repeat(199)}…`]);
});

t.test("a walk from child to child gets beyond every key, damaged ones too", async (t) => {
  const prefix = childrenPrefix("/");
  for (const rest of [
    `team\n${day}`,
    "team\n",
    "team",
    "",
    "\n",
    "\n\n",
    "a\u0000b",
    "te\u000bam",
    "~",
  ]) {
    const key = prefix + rest;
    const { before } = keysUnder(`${prefix}${childNameIn(key, prefix)}\n`);
    t.ok(before > key, JSON.stringify(key));
  }
});
