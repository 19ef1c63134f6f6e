import { createHash } from "node:crypto";
import t from "tap";
import { keyNameBytesMax, labelBytesMax } from "../../../shared/bounds.js";
import { hashKey, makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import {
  couldBeImportedKey,
  importedHash,
  isFirstKey,
  isKeyHash,
  isRedactedKey,
  keyId,
  keyNumber,
  looksLikeManagedKey,
  parseKeyIssue,
  redactKey,
  redactKeys,
  takeImportedKey,
} from "../../../shared/domain/managed-key.js";
import { parseTimestamp } from "../../../shared/time.js";

const nowMs = Date.parse("2026-01-01T00:00:00Z");

t.test(
  "a new key has the contract's shape, its own 32 bytes, and is known by its SHA-256",
  async (t) => {
    const keys = Array.from({ length: 100 }, makeManagedKey);
    t.same(
      keys.map((key) => ({
        ...key,
        shaped: /^sk-sluice-[A-Za-z0-9_-]{43}$/.test(key.value) && looksLikeManagedKey(key.value),
        bytes: Buffer.from(key.value.slice("sk-sluice-".length), "base64url").length,
        hashed: hashKey(key.value),
      })),
      keys.map(({ value }) => {
        const hash = createHash("sha256").update(value).digest("base64url");
        const redacted = `${value.slice(0, 14)}…`;
        return { value, hash, redacted, shaped: true, bytes: 32, hashed: hash };
      }),
    );
    t.equal(new Set(keys.map(({ value }) => value)).size, 100);
  },
);

t.test("whatever else a token is, it isn't a managed key", async (t) => {
  const { value } = makeManagedKey();
  for (const token of [
    "",
    "sk-sluice-",
    value.slice(0, -1),
    `${value}x`,
    `${value}\n`,
    ` ${value}`,
    value.toUpperCase(),
    value.replace("sk-sluice-", "sk-"),
    `${value.slice(0, -1)}=`,
    `${value.slice(0, -1)}+`,
  ])
    t.notOk(looksLikeManagedKey(token), token);
});

t.test("a key in a text for the log is cut to what may be shown", async (t) => {
  const { value } = makeManagedKey();
  t.equal(
    redactKeys(`/admin/auth-keys/${value}/deactivate?${value}`),
    `/admin/auth-keys/${redactKey(value)}/deactivate?${redactKey(value)}`,
  );
  t.equal(redactKeys("/v1/sk-sluice-models"), "/v1/sk-sluice-models");
  t.equal(redactKeys("/keys/sk-1234567890abcdef/x"), "/keys/sk-123…/x");
  t.equal(redactKeys("/task-runner-0123456789abcdef"), "/task-runner-0123456789abcdef");
  t.equal(redactKeys(""), "");
  for (const [shown, expected] of [
    [redactKey(value), true],
    [`${value.slice(0, 13)}…`, false],
    [`${value.slice(0, 15)}…`, false],
    [value.slice(0, 14), false],
    [value, false],
    [` ${redactKey(value)}`, false],
    [7, false],
    [[redactKey(value)], false],
  ] as const)
    t.equal(isRedactedKey(shown), expected, String(shown));
});

t.test("an id is key_ and a number from 1", async (t) => {
  t.equal(keyNumber(keyId(7)), 7);
  t.equal(keyNumber(keyId(Number.MAX_SAFE_INTEGER)), Number.MAX_SAFE_INTEGER);
  t.equal(keyNumber("key_9007199254740992"), null);
  for (const id of [
    "",
    "key_",
    "key_0",
    "key_07",
    "key_-1",
    "key_1.5",
    "key_7 ",
    "7",
    "KEY_7",
    `key_${"9".repeat(16)}`,
    "key_99999999999999999",
  ])
    t.equal(keyNumber(id), null, id);
});

t.test("what a key is issued with is normalized", async (t) => {
  t.same(parseKeyIssue({}, nowMs), {
    ok: true,
    value: { name: null, userPath: null, labels: [], models: null, expiresAtMs: null, role: null },
  });
  t.same(parseKeyIssue({ name: null, user_path: null, labels: null, expires_at: null }, nowMs), {
    ok: true,
    value: { name: null, userPath: null, labels: [], models: null, expiresAtMs: null, role: null },
  });
  t.same(
    parseKeyIssue(
      {
        name: " CI ",
        user_path: "team//app/",
        // As many as there may be.
        labels: ["b", " a ", "b", "a", "a", "a", "a", "a"],
        models: ["GPT-4o", "openai/*"],
        expires_at: "2030-01-31T12:00:00.999+02:00",
      },
      nowMs,
    ),
    {
      ok: true,
      value: {
        name: "CI",
        userPath: "/team/app",
        labels: ["b", "a"],
        models: ["gpt-4o", "openai/*"],
        role: null,
        expiresAtMs: Date.parse("2030-01-31T10:00:00Z"),
      },
    },
  );
});

t.test("a key with a role may use no model", async (t) => {
  const issued = parseKeyIssue({ role: "operator", user_path: "/team" }, nowMs);
  t.match(issued, { ok: true, value: { role: "operator", userPath: "/team" } });
  t.same(issued.ok && issued.value.models, []);
  for (const role of ["Operator", "owner", "", 7, ["admin"]])
    t.match(parseKeyIssue({ role }, nowMs), {
      failure: { param: "role", message: /role must be one of viewer, operator, admin, not / },
    });
  t.match(parseKeyIssue({ role: "admin", models: ["*"] }, nowMs), {
    failure: { param: "models", message: /can't be combined with role/ },
  });
  t.match(takeImportedKey({ hash: "a".repeat(64), role: "admin" }), {
    failure: { param: "hash", message: /can't be combined with role/ },
  });
});

t.test("a key's name and labels may be as long as their bounds, in bytes", async (t) => {
  const name = "é".repeat(keyNameBytesMax / 2);
  const labels = ["é".repeat(labelBytesMax / 2)];
  t.match(parseKeyIssue({ name: ` ${name} `, labels }, nowMs), {
    ok: true,
    value: { name, labels },
  });
  t.match(parseKeyIssue({ expires_at: "2026-01-01T00:00:01Z" }, nowMs), {
    ok: true,
    value: { expiresAtMs: nowMs + 1000 },
  });
  t.equal(isFirstKey(keyId(1)), true);
  t.equal(isFirstKey(keyId(2)), false);
});

t.test(
  "each wrong field is refused by its name, with what was given and what is expected",
  async (t) => {
    const table: readonly (readonly [body: unknown, param: string, message: RegExp])[] = [
      [null, "body", /must be a JSON object, not null/],
      [[], "body", /must be a JSON object, not \[\]/],
      ["x", "body", /must be a JSON object/],
      [
        { path: "/a" },
        "path",
        /unknown field path: expected name, user_path, labels, models, expires_at/,
      ],
      [{ key_hash: "x" }, "key_hash", /unknown field key_hash/],
      [{ value: "x" }, "value", /unknown field value/],
      [{ name: "" }, "name", /name must be a text that isn't blank, not ""/],
      [{ name: 5 }, "name", /name must be a text that isn't blank, not 5/],
      [{ name: "x".repeat(129) }, "name", /name must be at most 128 bytes, not 129/],
      [{ name: "a\u0007b" }, "name", /name must not hold control characters/],
      [
        { user_path: "" },
        "user_path",
        /user_path must be a path such as \/team\/app, or be left out .*, not ""/,
      ],
      [{ user_path: 5 }, "user_path", /not 5/],
      [
        { user_path: "/a/../b" },
        "user_path",
        /must not hold the segment \.\., as "\/a\/\.\.\/b" does/,
      ],
      [{ labels: "a" }, "labels", /labels must be an array of at most 8 texts, not "a"/],
      [{ labels: Array(9).fill("a") }, "labels", /not one of 9/],
      [{ labels: ["a", ""] }, "labels[1]", /labels\[1\] must be a text that isn't blank, not ""/],
      [{ labels: ["a", ["b"]] }, "labels[1]", /not \["b"\]/],
      [{ labels: ["a\nb"] }, "labels[0]", /control characters/],
      [{ labels: ["x".repeat(65)] }, "labels[0]", /at most 64 bytes, not 65/],
      [{ models: [] }, "models", /models must name a model, or be left out/],
      [{ models: "a" }, "models", /models must be a list of at most 64 names/],
      [{ models: ["a", "b c"] }, "models[1]", /models\[1\] must be a model's name .*, not "b c"/],
      [{ expires_at: 5 }, "expires_at", /must be an RFC 3339 timestamp such as .*, not 5/],
      [{ expires_at: "tomorrow" }, "expires_at", /not "tomorrow"/],
      [{ expires_at: "2030-01-31" }, "expires_at", /not "2030-01-31"/],
      [{ expires_at: "2030-01-31T12:00:00" }, "expires_at", /RFC 3339/],
      [
        { expires_at: "2026-01-01T00:00:00Z" },
        "expires_at",
        /must be in the future, not "2026-01-01T00:00:00Z"/,
      ],
    ];
    for (const [body, param, message] of table) {
      const checked = parseKeyIssue(body, nowMs);
      t.match(
        checked,
        {
          ok: false,
          failure: { status: 400, type: "invalid_request_error", code: null, param, message },
        },
        JSON.stringify(body),
      );
    }
  },
);

t.test("a timestamp is RFC 3339 with its offset, on a day that there is", async (t) => {
  t.equal(parseTimestamp("2028-02-29T23:59:59Z"), Date.parse("2028-02-29T23:59:59Z"));
  t.equal(parseTimestamp(" 2026-01-01t00:00:00z "), nowMs);
  t.equal(parseTimestamp("2026-01-01T05:30:00.123456789+05:30"), nowMs);
  t.equal(parseTimestamp("9999-12-31T23:59:59Z"), Date.parse("9999-12-31T23:59:59Z"));
  for (const text of [
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00+24:00",
    "1969-12-31T23:59:59Z",
    "26-01-01T00:00:00Z",
    "2026-01-01T00:00:00.Z",
    "",
  ])
    t.equal(parseTimestamp(text), null, text);
});

t.test("what may be shown of a key, and its hash, have a shape of their own", async (t) => {
  const { value, hash, redacted } = makeManagedKey();
  t.ok(isRedactedKey(redacted));
  t.ok(isKeyHash(hash));
  for (const other of [value, hash, `${redacted}x`, ` ${redacted}`, "", null, [redacted]])
    t.notOk(isRedactedKey(other));
  for (const other of [value, redacted, `${hash}x`, hash.slice(1), null, [hash]])
    t.notOk(isKeyHash(other));
  t.same([keyId(1), keyId(2), keyId(11), ""].map(isFirstKey), [true, false, false, false]);
});

t.test("an imported key is named by its hash, in hex or base64url", async (t) => {
  const value = "sk-1234567890abcdef";
  const hash = hashKey(value);
  const hex = Buffer.from(hash, "base64url").toString("hex");
  for (const given of [hash, `${hash}=`, hex, hex.toUpperCase()])
    t.same(takeImportedKey({ hash: given, name: "a" }), {
      ok: true,
      value: { imported: { hash, redacted: "…" }, key: { name: "a" } },
    });
  t.match(takeImportedKey({ hash, redacted_value: redactKey(value) }), {
    value: { imported: { redacted: "sk-123…" }, key: {} },
  });
  t.same(takeImportedKey({ name: "a", hash: null }), {
    ok: true,
    value: { imported: null, key: { name: "a" } },
  });
  t.same(takeImportedKey([]), { ok: true, value: { imported: null, key: [] } });
  for (const other of [value, "", 7, hex.slice(1), `${hex}0`, hash.slice(1), `${hash}==`, [hash]]) {
    t.equal(importedHash(other), null, String(other));
    const refused = takeImportedKey({ hash: other });
    t.match(refused, { ok: false, failure: { param: "hash" } });
    t.notOk(JSON.stringify(refused).includes(value), "what may be a key isn't repeated");
  }
  for (const [body, param] of [
    [{ redacted_value: "sk-1…" }, "hash"],
    [{ hash, redacted_value: value }, "redacted_value"],
    [{ hash, redacted_value: "1234567…" }, "redacted_value"],
  ] as const)
    t.match(takeImportedKey(body), { ok: false, failure: { param } });
});

t.test("an imported key may have any form but that of a JWT", async (t) => {
  for (const token of ["sk-1234567890abcdef", "x", "a.b", "k".repeat(512), makeManagedKey().value])
    t.ok(couldBeImportedKey(token), token.slice(0, 20));
  for (const token of ["", "a b", "\u00fc", "aa.bb.cc", "aa.bb.", "k".repeat(513), "a\nb"])
    t.notOk(couldBeImportedKey(token), token.slice(0, 20));
});
