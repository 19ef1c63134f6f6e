/** Keys from a file and from a command: real ones. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openKeySource, readToken } from "../../../../proxy/upstream/credentials/key-source.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { providerConfig } from "../../../support/provider-config.js";

function source(own: object) {
  const lines: string[] = [];
  const write = (fields: object, text: string): void =>
    void lines.push(`${JSON.stringify(fields)} ${text}`);
  const opened = openKeySource(providerConfig({ name: "x", ...own }), {
    log: { info: write, warn: write },
    monoMs: () => 0,
  });
  t.teardown(() => opened.close());
  return { ...opened, lines };
}

t.test("keys of the configuration are available immediately", async (t) => {
  t.equal(source({ apiKey: "k" }).keys.choose(), "k");
  t.equal(source({}).keys.choose(), null);
  t.equal(source({ apiKeys: [{ key: "m", weight: 2 }] }).keys.choose(), "m");
  const { keys } = source({
    apiKeys: [
      { key: "a", weight: 1, name: "prod" },
      { key: "b", weight: 1 },
    ],
  });
  t.same(
    ["a", "b", "c"].map((key) => keys.nameOf(key)),
    ["prod", "2", ""],
  );
  t.equal(source({ apiKey: "k" }).keys.nameOf("k"), "");
});

t.test("a key is read from a file, and a missing file is logged once", async (t) => {
  const file = join(t.testdir(), "key");
  writeFileSync(file, " sk-of-the-file\n");
  const { keys, ready, lines } = source({ apiKeyFile: file });
  t.match(keys.missing, /hasn't been read/);
  await ready;
  t.same([keys.missing, keys.choose()], [null, "sk-of-the-file"]);
  t.same(lines, []);
  rmSync(file);
  const gone = source({ apiKeyFile: file });
  await gone.ready;
  t.equal(gone.keys.missing, "its api_key_file fails: ENOENT");
  t.match(gone.lines, exactly([/can't be read/]));
  writeFileSync(file, "two words");
  const wrong = source({ apiKeyFile: file });
  await wrong.ready;
  t.equal(wrong.keys.missing, "its api_key_file gives no key");
});

t.test(
  "of several keys some may be in files; one that can't be read is left out, and told",
  async (t) => {
    const directory = t.testdir();
    const [one, two] = [join(directory, "one"), join(directory, "two")];
    writeFileSync(one, "sk-one\n");
    const { keys, ready, lines } = source({
      apiKeys: [
        { key: "sk-zero", weight: 1 },
        { keyFile: one, weight: 2 },
        { keyFile: two, weight: 1 },
      ],
    });
    const chosen = (times: number): readonly (string | null)[] =>
      Array.from({ length: times }, () => keys.choose()).sort();
    t.match(keys.missing, /hasn't been read/);
    await ready;
    t.equal(keys.missing, null);
    t.same(chosen(3), ["sk-one", "sk-one", "sk-zero"]);
    t.match(lines, exactly([/its api_keys\[2\]\.key_file fails: ENOENT.*can't be read/]));
  },
);

t.test("a key is printed by a command; neither the command nor its output is logged", async (t) => {
  const good = source({ apiKeyCommand: "echo sk-of-$((40 + 2))" });
  await good.ready;
  t.equal(good.keys.choose(), "sk-of-42");
  process.env["NOTIFY_SOCKET"] = "/run/notify";
  t.teardown(() => delete process.env["NOTIFY_SOCKET"]);
  const quiet = source({ apiKeyCommand: "echo ${NOTIFY_SOCKET-not-told}" });
  await quiet.ready;
  t.equal(quiet.keys.choose(), "not-told");
  const bad = source({ apiKeyCommand: "echo secret; echo secret >&2; exit 3" });
  await bad.ready;
  t.equal(bad.keys.missing, "its api_key_command fails: it ended with exit code 3");
  t.notMatch(bad.lines.join(), /secret/);
});

const nowMs = Date.parse("2026-08-02T10:00:00Z");
const jwt = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;

t.test("a key is a text, or the token in the JSON that cloud tools print", async (t) => {
  const table: readonly (readonly [
    text: string,
    key: string | null,
    expiresInMs?: number | null,
  ])[] = [
    ["sk-1\n", "sk-1", null],
    ["", null],
    ["two words", null],
    ["zwei\u00e4", null],
    ['{"token":"t"}', "t", null],
    ['{"access_token":"t","expires_in":60}', "t", 60_000],
    ['{"accessToken":"t","expiresOn":"2026-08-02T10:01:00Z"}', "t", 60_000],
    ['{"token":"t","expires_at":1785664860}', "t", 60_000],
    ['{"token":"t","expires_at":"soon"}', "t", null],
    ['{"token":""}', null],
    ['{"token":7}', null],
    ["{broken", "{broken", null],
    [jwt({ exp: nowMs / 1000 + 90 }), jwt({ exp: nowMs / 1000 + 90 }), 90_000],
    [jwt({}), jwt({}), null],
    [`{"token":"${jwt({ exp: nowMs / 1000 + 90 })}"}`, jwt({ exp: nowMs / 1000 + 90 }), 90_000],
    ["a.b.c", "a.b.c", null],
  ];
  for (const [text, key, expiresInMs] of table)
    t.same(readToken(text, nowMs), key === null ? null : { key, expiresInMs }, text);
});
