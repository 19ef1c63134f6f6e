import t from "tap";
import { substituteVariables } from "../../../../shared/config/file/substitute-variables.js";

function substitute(
  document: unknown,
  env: Record<string, string>,
): { readonly result: unknown; readonly problems: readonly string[] } {
  const problems: string[] = [];
  return { result: substituteVariables(document, env, problems), problems };
}

t.test("variables are replaced in every text, and nothing else changes", async (t) => {
  const env = { A: "one", B_2: " two ", EMPTY: "" };
  for (const [value, expected] of [
    ["${A}", "one"],
    ["x-${A}-${B_2}-y", "x-one-two-y"],
    ["$${A}", "${A}"],
    ["$$${A}", "$${A}"],
    ["$A costs $5", "$A costs $5"],
    ["$$MY_A", "$MY_A"],
    [" $$$A ", " $$A "],
    ["${EMPTY}", ""],
    ["${A}${EMPTY}", "one"],
    [5, 5],
    [null, null],
    [
      ["${A}", { "${A}": "${A}" }],
      ["one", { "${A}": "one" }],
    ],
  ] as const) {
    t.same(
      substitute({ key: value }, env),
      { result: { key: expected }, problems: [] },
      JSON.stringify(value),
    );
  }
});

t.test("an unset variable is a problem that names the place and the variable", async (t) => {
  t.same(substitute({ server: { host: "${NOPE}" }, list: [{ "a.b": "${A}${B}" }] }, {}).problems, [
    "server.host needs the environment variable NOPE, which isn't set",
    'list[0]["a.b"] needs the environment variable A, which isn\'t set',
    'list[0]["a.b"] needs the environment variable B, which isn\'t set',
  ]);
});

t.test("an unset or empty variable in api_key and master_key counts as not given", async (t) => {
  const document = {
    server: { master_key: "${NOPE}" },
    providers: { a: { api_key: "key-${EMPTY}" }, b: { api_key: "${SET}" } },
  };
  t.same(substitute(document, { EMPTY: " ", SET: "s" }), {
    result: {
      server: { master_key: null },
      providers: { a: { api_key: null }, b: { api_key: "s" } },
    },
    problems: [],
  });
});

t.test(
  "of files that the proxy alone reads, an unset variable stays as it is written",
  async (t) => {
    const at = "${DIRECTORY}/${NOPE}/key";
    const document = { server: { master_key_file: at }, a: { api_key_file: at, secret_file: at } };
    const kept = "/run/${NOPE}/key";
    t.same(substitute(document, { DIRECTORY: "/run", EMPTY: "" }), {
      result: { server: { master_key_file: kept }, a: { api_key_file: kept, secret_file: kept } },
      problems: [],
    });
  },
);

t.test("a ${ that names no variable is a problem", async (t) => {
  t.match(substitute({ host: "x${A:-x}" }, {}).problems, {
    0: /^host gives the variable A a default, which Sluice doesn't have: write \$\{A\}$/,
    length: 1,
  });
  for (const text of ["${}", "${A", "${1}", "${ A }"]) {
    t.same(
      substitute({ host: text }, { A: "a" }).problems,
      [
        "host holds a ${ that names no variable: write ${NAME}, or $${ for the two characters themselves",
      ],
      text,
    );
  }
});

t.test("names that every object has can't be used as keys", async (t) => {
  const document = JSON.parse(
    '{"providers":{"__proto__":{"type":"simulator"},"constructor":{},"prototype":{}}}',
  ) as unknown;
  const { result, problems } = substitute(document, {});
  t.same(problems, [
    "providers.__proto__ is a reserved name and can't be used",
    "providers.constructor is a reserved name and can't be used",
    "providers.prototype is a reserved name and can't be used",
  ]);
  t.same(result, { providers: {} });
});

t.test("a variable is never an inherited property of an object", async (t) => {
  t.same(substitute({ api_key: "${constructor}" }, {}).result, { api_key: null });
});
