/** Who may read /metrics. */
import t from "tap";
import type { Credentials } from "../../../proxy/auth/authenticate.js";
import { authenticateScrape } from "../../../proxy/auth/authenticate-scrape.js";
import type { Served } from "../../../proxy/http/match-route.js";
import { FakeExchange } from "../fake-exchange.js";

const locked: Credentials = {
  masterKey: "mk",
  jwt: null,
  userPathHeader: "x-sluice-user-path",
  open: false,
  adminOpen: false,
  metricsToken: null,
  metricsOpen: false,
  sameSecret: (given, expected) => given === expected,
  hashKey: (key) => key,
};
const withToken: Credentials = { ...locked, metricsToken: "mt" };
const open: Credentials = { ...locked, masterKey: null, open: true, metricsOpen: true };
const openBeyond: Credentials = { ...open, metricsOpen: false };

const bearer = (token: string): string[] => ["authorization", `Bearer ${token}`];
const managed = `sk-sluice-${"a".repeat(43)}`;

t.test("the master key and the token for scrapes open it, and nothing else", async (t) => {
  const table: readonly (readonly [Credentials, Served, readonly string[], string])[] = [
    [locked, "all", bearer("mk"), "authenticated"],
    [locked, "all", ["x-api-key", "mk"], "authenticated"],
    [locked, "all", bearer("mt"), "401"],
    [locked, "all", [], "401"],
    [locked, "admin", [], "401"],
    [withToken, "all", bearer("mt"), "authenticated"],
    [withToken, "models", bearer("mt"), "authenticated"],
    [withToken, "all", bearer("mk"), "authenticated"],
    [withToken, "all", bearer(managed), "401"],
    [withToken, "all", bearer("eyJhbGciOiJub25lIn0.e30."), "401"],
    [open, "all", [], "none"],
    [open, "models", [], "none"],
    [open, "all", bearer("anything"), "none"],
    [openBeyond, "all", [], "403"],
    [openBeyond, "models", [], "403"],
    [openBeyond, "admin", [], "none"],
    // Who sets a token wants it to be shown.
    [{ ...open, metricsToken: "mt" }, "all", [], "401"],
    [{ ...open, metricsToken: "mt" }, "admin", [], "401"],
    [{ ...open, metricsToken: "mt" }, "all", bearer("mt"), "authenticated"],
    // JWTs alone: they don't open it, and there is nothing else.
    [{ ...locked, masterKey: null }, "all", [], "403"],
  ];
  for (const [credentials, served, headers, expected] of table) {
    const asked = authenticateScrape(credentials, served, new FakeExchange({ headers }));
    const found = asked.ok ? asked.caller.credential : String(asked.failure.status);
    t.equal(found, expected, `${JSON.stringify(headers)} at ${served}`);
    if (asked.ok)
      t.equal(
        asked.caller.isOperator && headers.length > 0,
        expected === "none" && headers.length > 0,
      );
  }
});
