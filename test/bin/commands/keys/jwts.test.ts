import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";

const denied = {
  jti: null,
  sub: "ann",
  issuer: null,
  denied_at: "2026-01-01T00:00:00Z",
  expires_at: "2026-01-02T00:00:00Z",
};
const table = [
  "CLAIM  VALUE  ISSUER  DENIED                UNTIL",
  "sub    ann    (any)   2026-01-01T00:00:00Z  2026-01-02T00:00:00Z",
].join("\n");

t.test("tokens are denied, allowed and listed by jti or sub", async (t) => {
  const daemon = await startFakeDaemon(t, {
    explanation: { ...denied, denied_jwts: [denied], next: null },
  });
  const to = ["--socket", daemon.socket];
  t.match(await run(["jwts", "deny", "--sub", "ann", "--expires", "12h", ...to]), {
    exitCode: 0,
    out: table,
  });
  const deny = ["jwts", "deny", "--jti", "a", "--issuer", "x", "--expires", "2030-01-31T12:00:00Z"];
  t.match(JSON.parse((await run([...deny, "--json", ...to])).out), denied);
  t.match(await run(["jwts", "allow", "--jti", "a", ...to]), { exitCode: 0, out: "allowed again" });
  t.match(await run(["jwts", "list", ...to]), { exitCode: 0, out: table });
  t.same(JSON.parse((await run(["jwts", "list", "--json", ...to])).out), { denied_jwts: [denied] });
  t.match(
    daemon.calls.slice(0, 3),
    exactly([
      { op: "jwts.deny", body: { jwt: { sub: "ann" }, expires_in_seconds: 43_200 } },
      {
        op: "jwts.deny",
        body: {
          jwt: { jti: "a", issuer: "x", expires_at: "2030-01-31T12:00:00Z" },
          expires_in_seconds: null,
        },
      },
      { op: "jwts.allow", body: { jti: "a" } },
    ]),
  );
  daemon.calls.length = 0;
  for (const [flags, err] of [
    [[], "error: --jti or --sub is required"],
    [["--jti", "a", "--sub", "b"], "error: --jti can't be combined with --sub"],
    [["--jti", ""], 'error: --jti must be a text that isn\'t empty, not ""'],
    [["--jti", "a", "--expires", "soon"], /--expires must be a length of time/],
  ] as const)
    t.match(await run(["jwts", "deny", ...flags, ...to]), { exitCode: 2, out: "", err });
  t.same(daemon.calls, []);
});

t.test("nothing denied is one sentence", async (t) => {
  const daemon = await startFakeDaemon(t, { explanation: { denied_jwts: [], next: null } });
  t.match(await run(["jwts", "list", "--socket", daemon.socket]), { out: "no JWT is denied" });
});
