import t from "tap";
import { asFlagProblem, keyIssueFromFlags, notAKey } from "../../../bin/limits/key-flags.js";
import { renderKeys } from "../../../bin/limits/key-table.js";
import { hashKey, newKey } from "../../../shared/domain/key-secret.js";
import { run } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";

t.test("the flags of an issue become the API's body, or a line for each problem", async (t) => {
  t.same(keyIssueFromFlags({}), { ok: true, value: { key: {}, expires_in_seconds: null } });
  t.same(
    keyIssueFromFlags({
      path: "/team",
      name: "CI",
      label: ["a", "b"],
      expires: "2030-01-31T12:00:00Z",
    }),
    {
      ok: true,
      value: {
        key: {
          name: "CI",
          user_path: "/team",
          labels: ["a", "b"],
          expires_at: "2030-01-31T12:00:00Z",
        },
        expires_in_seconds: null,
      },
    },
  );
  for (const label of [["a", "b"], ["a,b"], [" a , b", "a"]])
    t.match(
      keyIssueFromFlags({ label }),
      { ok: true, value: { key: { labels: ["a", "b"] } } },
      label.join(" "),
    );
  t.match(keyIssueFromFlags({ label: ["a,,b"] }), {
    ok: false,
    problems: [{ message: /^--label\[1\] must be/ }],
  });
  for (const [text, seconds] of [
    ["30d", 2_592_000],
    ["12h", 43_200],
    ["90m", 5400],
    ["1s", 1],
    [" 2w ", 1_209_600],
    ["36500d", 3_153_600_000],
  ] as const)
    t.match(
      keyIssueFromFlags({ expires: text }),
      { ok: true, value: { expires_in_seconds: seconds } },
      text,
    );
  for (const text of [
    "",
    "30",
    "d",
    "0d",
    "-1d",
    "1.5d",
    "30 days",
    "36501d",
    "99999999999d",
    "2030-02-30T00:00:00Z",
    "never",
  ])
    t.match(
      keyIssueFromFlags({ expires: text }),
      {
        ok: false,
        problems: [
          { param: "--expires", message: /--expires must be a length of time such as 30d/ },
        ],
      },
      text,
    );
  t.match(keyIssueFromFlags({ path: "/a/..", name: " ", label: ["ok", ""], expires: "x" }), {
    ok: false,
    problems: [
      { param: "--name", message: /^--name must be a text/ },
      { param: "--path", message: /^--path must not hold the segment \.\./ },
      { param: "--label", message: /^--label\[1\] must be/ },
      { param: "--expires" },
    ],
  });
  t.same(
    asFlagProblem({ message: 'expires_at must be in the future, not "x"', param: "expires_at" }),
    { message: '--expires must be in the future, not "x"', param: "--expires" },
    "what only the daemon can say too",
  );
  t.same(asFlagProblem({ message: "no key is issued", param: null }), {
    message: "no key is issued",
    param: null,
  });
});

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
    err: "issued key_1, for /team, without an end; it is shown this once:",
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
  "a key is deactivated or deleted by its id or by itself, which is sent as its hash",
  async (t) => {
    const daemon = await startFakeDaemon(t, { explanation: { id: "key_7" } });
    const { value, hash } = newKey();
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
    t.equal(notAKey("--key", "x"), '--key must be an id such as key_7, or a complete key, not "x"');
  },
);

t.test("the list shows the properties of the keys, or that there is none", async (t) => {
  t.equal(renderKeys([]), "no keys");
  const key = {
    id: "key_7",
    name: null,
    user_path: null,
    labels: [],
    redacted_value: "sk-sluice-abcd…",
    status: "expired",
    active: false,
    created_at: "2026-01-01T00:00:00Z",
    expires_at: "2026-02-01T00:00:00Z",
    deactivated_at: null,
  };
  t.equal(
    renderKeys([
      key,
      {
        ...key,
        id: "key_6",
        name: "CI",
        user_path: "/team",
        labels: ["a", "b"],
        expires_at: null,
        status: "active",
      },
    ]),
    [
      "ID     NAME  PATH            LABELS  KEY              STATUS   EXPIRES               CREATED",
      "key_7  -     (the caller's)  -       sk-sluice-abcd…  expired  2026-02-01T00:00:00Z  2026-01-01T00:00:00Z",
      "key_6  CI    /team           a, b    sk-sluice-abcd…  active   never                 2026-01-01T00:00:00Z",
    ].join("\n"),
  );
});
