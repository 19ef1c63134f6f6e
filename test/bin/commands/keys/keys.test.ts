import { join } from "node:path";
import t from "tap";
import { hashKey, makeManagedKey } from "../../../../shared/domain/make-managed-key.js";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";

t.test("a key is issued by its hash, and is alone on standard output", async (t) => {
  const issued = {
    id: "key_1",
    name: null,
    user_path: "/team",
    labels: [],
    redacted_value: "sk-sluice-abcd…",
    status: "active",
    active: true,
    created_at: "2026-01-01T00:00:00Z",
    expires_at: null,
    deactivated_at: null,
  };
  const daemon = await startFakeDaemon(t, { explanation: issued });
  const made = await run(["keys", "issue", "--path", "/team", "--socket", daemon.socket]);
  t.match(made, {
    exitCode: 0,
    out: /^sk-sluice-[\w-]{43}$/,
    err: "issued key_1, for /team, without expiry; it is shown only once:",
  });
  const { body } = daemon.calls.at(-1) as { body: Record<string, unknown> };
  t.same(body, {
    key_hash: hashKey(made.out),
    redacted_value: `${made.out.slice(0, 14)}…`,
    key: { user_path: "/team" },
    expires_in_seconds: null,
  });
  const json = await run(["keys", "issue", "--json", "--socket", daemon.socket]);
  t.match(JSON.parse(json.out), { ...issued, value: /^sk-sluice-/ });
  t.equal(json.err, "");
  daemon.calls.length = 0;
  t.match(await run(["keys", "issue", "--expires", "soon", "--socket", daemon.socket]), {
    exitCode: 2,
    out: "",
    err: /--expires must be/,
  });
  t.same(daemon.calls, [], "nothing is sent when a flag is wrong");
});

t.test(
  "a key is deactivated or deleted by its id or its value, which is sent as its hash",
  async (t) => {
    const daemon = await startFakeDaemon(t, { explanation: { id: "key_7" } });
    const { value, hash } = makeManagedKey();
    t.same(await run(["keys", "deactivate", "key_7", "--socket", daemon.socket]), {
      exitCode: 0,
      out: "deactivated: key_7",
      err: "",
    });
    t.same(await run(["keys", "deactivate", value, "--json", "--socket", daemon.socket]), {
      exitCode: 0,
      out: '{"id":"key_7"}',
      err: "",
    });
    t.same(await run(["keys", "delete", "key_7", "--socket", daemon.socket]), {
      exitCode: 0,
      out: "deleted: key_7",
      err: "",
    });
    t.same(
      daemon.calls.map(({ op, body }) => [op, body]),
      [
        ["keys.deactivate", { id: "key_7" }],
        ["keys.deactivate", { key_hash: hash }],
        ["keys.delete", { id: "key_7" }],
      ],
    );
    t.match(await run(["keys", "deactivate", "7", "--socket", daemon.socket]), {
      exitCode: 2,
      err: 'error: the key must be an id such as key_7, or a complete key, not "7"',
    });
    const { err } = await run([
      "keys",
      "deactivate",
      value.slice(0, -1),
      "--socket",
      daemon.socket,
    ]);
    t.equal(
      err,
      "error: the key must be an id such as key_7, or a complete key",
      "most of a key isn't repeated",
    );
    t.match(
      await run([
        "explain",
        "--key",
        value.slice(0, -1),
        "--model",
        "m",
        "--socket",
        daemon.socket,
      ]),
      { exitCode: 2, err: /^error: --key must be an id such as key_7, or a complete key$/ },
    );
    t.match(
      await run(["explain", "--key", "key_7", "--request", "req_1", "--socket", daemon.socket]),
      { exitCode: 2, err: /--request can't be combined/ },
    );
  },
);

t.test(
  "a key is rotated by its id or its value; only the new one is on standard output",
  async (t) => {
    const rotated = {
      id: "key_7",
      old_secrets: [
        {
          redacted_value: "sk-sluice-abcd…",
          expires_at: "2026-01-02T00:00:00Z",
          last_used_at: null,
        },
      ],
    };
    const daemon = await startFakeDaemon(t, { explanation: rotated });
    const made = await run([
      "keys",
      "rotate",
      "key_7",
      "--overlap",
      "1h",
      "--socket",
      daemon.socket,
    ]);
    t.match(made, {
      exitCode: 0,
      out: /^sk-sluice-[\w-]{43}$/,
      err: [
        "rotated key_7; sk-sluice-abcd… works until 2026-01-02T00:00:00Z, last used never",
        "the new one is shown only once:",
      ].join("\n"),
    });
    t.same((daemon.calls.at(-1) as { body: unknown }).body, {
      id: "key_7",
      new_hash: hashKey(made.out),
      redacted_value: `${made.out.slice(0, 14)}…`,
      rotation: { overlap_seconds: 3600 },
    });
    const { value, hash } = makeManagedKey();
    const json = await run(["keys", "rotate", value, "--json", "--socket", daemon.socket]);
    t.match(JSON.parse(json.out), { ...rotated, value: /^sk-sluice-/ });
    t.match(daemon.calls.at(-1), { body: { key_hash: hash, rotation: {} } });
    t.match(await run(["keys", "rotate", "key_7", "--overlap", "5", "--socket", daemon.socket]), {
      exitCode: 2,
      out: "",
      err: /--overlap must be/,
    });
  },
);

t.test(
  "at a terminal the first key of an open gateway needs a confirmation; a script gets a note",
  async (t) => {
    const directory = t.testdir({
      "locked.yaml": "server: { master_key: 0123456789abcdef0123456789abcdef }",
    });
    const issued = { id: "key_1", user_path: null, expires_at: null };
    const none = await startFakeDaemon(t, { explanation: { ...issued, issued: 0 } });
    const some = await startFakeDaemon(t, { explanation: { ...issued, issued: 3 } });
    const first = (...more: string[]): string[] => [
      "keys",
      "issue",
      "--socket",
      none.socket,
      ...more,
    ];
    const issues = (): number => none.calls.filter(({ op }) => op === "keys.issue").length;
    const cwd = directory;
    t.match(await run(first(), { cwd, answer: "n" }), {
      exitCode: 1,
      out: "",
      err: /the first key closes this gateway for good.*Issue it\? \[y\/N\] \nno key was issued$/s,
    });
    t.equal(issues(), 0);
    t.match(await run(first(), { cwd, answer: "y" }), { exitCode: 0, out: /^sk-sluice-/ });
    t.match(await run(first(), { cwd }), {
      exitCode: 0,
      out: /^sk-sluice-/,
      err: /^note: the first key closes/,
    });
    t.equal(issues(), 2);
    for (const argv of [
      first("--yes"),
      first("--config", "locked.yaml"),
      ["keys", "issue", "--socket", some.socket],
    ]) {
      const { exitCode, err } = await run(argv, { cwd, answer: "" });
      t.equal(exitCode, 0);
      t.notMatch(err, /closes/, argv.join(" "));
    }
  },
);

t.test(
  "an existing key is imported by its hash or from a file, and its id is printed",
  async (t) => {
    const daemon = await startFakeDaemon(t, {
      explanation: { id: "key_1", user_path: null, expires_at: null },
    });
    const value = "sk-1234567890abcdef";
    const file = join(t.testdir({ "old.key": `${value}\n`, "short.key": "sk-1234" }), "old.key");
    for (const [flags, redacted_value] of [
      [["--hash", hashKey(value)], "…"],
      [["--hash", Buffer.from(hashKey(value), "base64url").toString("hex")], "…"],
      [["--value-file", file], "sk-123…"],
    ] as const) {
      t.same(await run(["keys", "issue", ...flags, "--socket", daemon.socket]), {
        exitCode: 0,
        out: "key_1",
        err: "imported key_1, for a path that the caller names, without expiry",
      });
      const { body } = daemon.calls.at(-1) as { body: unknown };
      t.match(body, { key_hash: hashKey(value), redacted_value, imported: true });
    }
    daemon.calls.length = 0;
    for (const [flags, err] of [
      [["--hash", value], /--hash must be the SHA-256/],
      [
        ["--value-file", file.replace("old", "short")],
        /--value-file must hold one key of 16 to 512/,
      ],
      [["--value-file", file.replace("old", "no")], /can't be read/],
      [["--hash", hashKey(value), "--value-file", file], /can't be combined/],
    ] as const) {
      const wrong = await run(["keys", "issue", ...flags, "--socket", daemon.socket]);
      t.match(wrong, { exitCode: 2, out: "", err });
      t.notOk(wrong.err.includes(value), "what may be a key isn't repeated");
    }
    t.same(daemon.calls, []);
  },
);

t.test("the daemon filters keys by path, status, use and expiry", async (t) => {
  const daemon = await startFakeDaemon(t);
  const asked = async (...flags: string[]): Promise<unknown> => {
    await run(["keys", "list", ...flags, "--json", "--socket", daemon.socket]);
    return daemon.calls.at(-1)?.body;
  };
  const none = {
    user_path: "/",
    status: null,
    unused_seconds: null,
    expires_seconds: null,
    after: null,
  };
  t.same(await asked(), none);
  t.same(await asked("--unused", "30d"), { ...none, unused_seconds: 2_592_000 });
  t.same(await asked("--expiring", "12h"), { ...none, expires_seconds: 43_200 });
  t.same(await asked("--path", "/team", "--status", "active"), {
    ...none,
    user_path: "/team",
    status: "active",
  });
  for (const [flags, param] of [
    [["--status", "gone"], "--status"],
    [["--unused", "long"], "--unused"],
    [["--expiring", "0d"], "--expiring"],
    [["--path", "/a/.."], "--path"],
  ] as const) {
    const refused = await run(["keys", "list", ...flags, "--socket", daemon.socket]);
    t.equal(refused.exitCode, 2);
    t.match(refused.err, new RegExp(`${param}`));
  }
});
