import t from "tap";
import { boolean, choice } from "../../../../shared/config/kinds/choice-kinds.js";
import { listOfNames, modelList } from "../../../../shared/config/kinds/list-kinds.js";
import { integer, seconds, tokenWeights } from "../../../../shared/config/kinds/number-kinds.js";
import { apiKey, masterKey } from "../../../../shared/config/kinds/secret-kinds.js";
import { filePath, headerName, host } from "../../../../shared/config/kinds/text-kinds.js";
import { baseUrl } from "../../../../shared/config/kinds/url-kinds.js";
import { kindProblem, type ValueKind } from "../../../../shared/config/kinds/value-kind.js";

interface Case {
  readonly kind: ValueKind<unknown>;
  /** Raw values and their parsed ones. */
  readonly taken: readonly (readonly [raw: unknown, value: unknown])[];
  readonly refused: readonly unknown[];
}

const cases: Readonly<Record<string, Case>> = {
  "a boolean": {
    kind: boolean,
    taken: [
      [true, true],
      [false, false],
      ["TRUE", true],
      ["false", false],
      [" yes ", true],
      ["No", false],
      ["on", true],
      ["OFF", false],
      ["1", true],
      ["0", false],
      [1, true],
      [0, false],
    ],
    refused: ["", "maybe", "t", 2, "2", null, [], {}],
  },
  "an integer": {
    kind: integer({ min: 0, max: 65_535 }),
    taken: [
      [0, 0],
      [8080, 8080],
      ["8080", 8080],
      [" 65535 ", 65_535],
    ],
    refused: [-1, 65_536, 1.5, "1.5", "http", "", "0x10", "1e3", NaN, Infinity, true, null, [1]],
  },
  "a number of seconds": {
    kind: seconds({ min: 0.01, max: 60, allowsZero: true }),
    taken: [
      [0, 0],
      ["0", 0],
      [1, 1000],
      ["0.25", 250],
      [0.01, 10],
      [60, 60_000],
    ],
    refused: [-1, 0.001, 61, "1s", "", null, NaN],
  },
  "a number of seconds above zero": {
    kind: seconds({ min: 0.1, max: 60, allowsZero: false }),
    taken: [[0.1, 100]],
    refused: [0, "0"],
  },
  "a choice": {
    kind: choice(["closed", "open"]),
    taken: [
      ["open", "open"],
      [" CLOSED ", "closed"],
    ],
    refused: ["", "shut", 1, null, true],
  },
  "known names": {
    kind: listOfNames(["quota_templates"]),
    taken: [
      ["quota_templates", ["quota_templates"]],
      [["quota_templates"], ["quota_templates"]],
      [" quota_templates , ", ["quota_templates"]],
      [[], []],
    ],
    refused: ["other", ["quota_templates", "other"], [1], {}, 5, true],
  },
  "a list of models": {
    kind: modelList,
    taken: [
      ["gpt-4o, meta/llama-3", ["gpt-4o", "meta/llama-3"]],
      [["*"], ["*"]],
      [[], []],
    ],
    refused: [[1], [""], ["/x"], ["x/"], ["a\u0000b"], 5, {}, null],
  },
  "a host": {
    kind: host,
    taken: [
      ["127.0.0.1", "127.0.0.1"],
      [" localhost ", "localhost"],
      ["::1", "::1"],
      ["fe80::1%eth0", "fe80::1%eth0"],
      ["my_host.internal", "my_host.internal"],
    ],
    refused: ["", "a b", "http://a", "127.0.0.1:8080", "[::1]", "a/b", 127, null],
  },
  "a header's name": {
    kind: headerName,
    taken: [
      ["X-User", "x-user"],
      [" x-a ", "x-a"],
    ],
    refused: ["", "a b", "a:b", "Authorization", "X-Api-Key", "Content-Length", 5],
  },
  "a path": {
    kind: filePath,
    taken: [
      ["/run/x.sock", "/run/x.sock"],
      ["x/y", "x/y"],
    ],
    refused: ["", " ", "~/x", "a\u0000b", "a\nb", 5, null],
  },
  "a master key": {
    kind: masterKey,
    taken: [
      ["sk-1", "sk-1"],
      [" sk-1\n", "sk-1"],
      ["", null],
      [" ", null],
    ],
    refused: ["none", "None", "a b", "é", "a\nb", 12345, true],
  },
  "an API key": {
    kind: apiKey,
    taken: [
      ["sk-1", "sk-1"],
      ["sk-1\n", "sk-1"],
      ["none", null],
      ["NONE", null],
      ["", null],
    ],
    refused: ["a b", "é", 12345, []],
  },
  "a base URL": {
    kind: baseUrl,
    taken: [
      ["https://api.openai.com/v1", "https://api.openai.com/v1"],
      [" http://127.0.0.1:9100/v1/ ", "http://127.0.0.1:9100/v1"],
      ["https://x", "https://x"],
      ["HTTPS://X.example//", "https://x.example"],
      ["http://[::1]:80/a", "http://[::1]/a"],
    ],
    refused: [
      "",
      "api.openai.com",
      "ftp://x",
      "http://",
      "http://u:p@x",
      "http://u@x/v1",
      "http://x/?a=1",
      "http://x?",
      "http://x/#a",
      "http:x",
      "unix:/a",
      5,
      null,
    ],
  },
};

for (const [name, { kind, taken, refused }] of Object.entries(cases)) {
  t.test(`${name} is taken in its forms and in no other`, async (t) => {
    for (const [raw, value] of taken)
      t.same(kind.parse(raw), value, `takes ${JSON.stringify(raw)}`);
    for (const raw of refused)
      t.equal(kind.parse(raw), undefined, `refuses ${JSON.stringify(raw)}`);
  });
}

t.test("a problem names the place, what was expected and the value", async (t) => {
  t.equal(
    kindProblem(boolean, "USAGE_ENABLED", "maybe"),
    'USAGE_ENABLED must be true or false (or yes, no, on, off, 1, 0), not "maybe"',
  );
  t.equal(
    kindProblem(integer({ min: 0, max: 9 }), "server.port", 70_000),
    "server.port must be an integer from 0 to 9, not 70000",
  );
});

t.test("a problem never quotes what may be a secret", async (t) => {
  for (const [kind, raw] of [
    [masterKey, "my secret"],
    [apiKey, "my secret"],
    [baseUrl, "https://user:secret@x"],
    [baseUrl, "https://x/?key=secret"],
    [baseUrl, "sk-secret"],
  ] as const) {
    t.notMatch(kindProblem(kind, "place", raw), /secret(?!s)/, String(raw));
  }
  t.match(kindProblem(baseUrl, "place", "127.0.0.1:9100"), /, not "127\.0\.0\.1:9100"$/);
});

t.test("a mapping with a wrong field is named by the field, not by its type", async (t) => {
  for (const [raw, message] of [
    [{ cached: -1 }, "rate_limits.token_weights.cached must be a number from 0 to 100, not -1"],
    [
      { foo: 2 },
      "unknown field rate_limits.token_weights.foo: expected input, cached, cache_write, output, reasoning",
    ],
    [
      5,
      "rate_limits.token_weights must be a mapping of input, cached, cache_write, output, reasoning to weights from 0 to 100, such as cached=0.1,cache_write=1.25, not 5",
    ],
  ] as const)
    t.equal(kindProblem(tokenWeights, "rate_limits.token_weights", raw), message);
});
