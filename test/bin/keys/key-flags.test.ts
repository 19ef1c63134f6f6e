import t from "tap";
import {
  asFlagProblem,
  keyIssueFromFlags,
  keyRotationFromFlags,
  notAKey,
} from "../../../bin/keys/key-flags.js";
import { exactly } from "../../support/patterns/exactly.js";

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
      exactly({ ok: true, value: { key: { labels: ["a", "b"] } } }),
      label.join(" "),
    );
  t.match(
    keyIssueFromFlags({ label: ["a,,b"] }),
    exactly({
      ok: false,
      problems: [{ message: /^--label\[1\] must be/ }],
    }),
  );
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
      exactly({
        ok: false,
        problems: [
          { param: "--expires", message: /--expires must be a length of time such as 30d/ },
        ],
      }),
      text,
    );
  t.match(
    keyIssueFromFlags({ path: "/a/..", name: " ", label: ["ok", ""], expires: "x" }),
    exactly({
      ok: false,
      problems: [
        { param: "--name", message: /^--name must be a text/ },
        { param: "--path", message: /^--path must not hold the segment \.\./ },
        { param: "--label", message: /^--label\[1\] must be/ },
        { param: "--expires" },
      ],
    }),
  );
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

t.test(
  "a text that is neither a key nor an id is quoted unless it is a part of a key",
  async (t) => {
    const message = "--key must be an id such as key_7, or a complete key";
    t.equal(notAKey("--key", "x"), `${message}, not "x"`);
    t.equal(notAKey("--key", "sk-sluice-abc"), message);
  },
);

t.test("an overlap is a length of time, or nothing", async (t) => {
  for (const [overlap, rotation] of [
    [undefined, {}],
    ["0", { overlap_seconds: 0 }],
    ["12h", { overlap_seconds: 43_200 }],
  ] as const)
    t.same(
      keyRotationFromFlags(overlap === undefined ? {} : { overlap }),
      { ok: true, value: { rotation } },
      String(overlap),
    );
  for (const overlap of ["", "5", "0d", "-1h", "soon", "2030-01-01T00:00:00Z"])
    t.match(
      keyRotationFromFlags({ overlap }),
      exactly({
        ok: false,
        problems: [{ message: /^--overlap must be a length of time/, param: "--overlap" }],
      }),
    );
});
