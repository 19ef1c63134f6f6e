import t from "tap";
import { authorizeCaller, mustAuthorizeFirst } from "../../../proxy/auth/authorize-caller.js";
import { authenticatedCaller, type Caller, wrongToken } from "../../../proxy/auth/caller.js";
import type { Area } from "../../../proxy/http/match-route.js";
import type { AuthorizeOutcome, Limiter } from "../../../proxy/limiter/limiter.js";
import { unauthorizedBodyBytesMax } from "../../../shared/bounds.js";
import { hashKey } from "../../../shared/domain/key-secret.js";
import { invalid } from "../../../shared/error-code.js";
import { FakeExchange } from "../fake-exchange.js";

const pathFailure = invalid("invalid X-Sluice-User-Path header");
const keyCaller: Caller = { ...authenticatedCaller("/header"), credential: hashKey("k") };
const nobody: Caller = { ...authenticatedCaller("/header"), credential: "none" };

interface Told {
  readonly limiter: Limiter;
  readonly asked: string[];
}

/** A daemon that gives one answer. */
function daemon(
  outcome: AuthorizeOutcome,
  { keysExist = null, reachable = true }: { keysExist?: boolean | null; reachable?: boolean } = {},
): Told {
  const asked: string[] = [];
  const authorize = (credential: string): Promise<AuthorizeOutcome> => {
    asked.push(credential);
    return Promise.resolve(outcome);
  };
  return { limiter: { keysExist, reachable, authorize } as Partial<Limiter> as Limiter, asked };
}

async function said(told: Told, caller: Caller, area: Area = "model"): Promise<string> {
  const authentication = await authorizeCaller(told.limiter, caller, area);
  return authentication.ok
    ? `${authentication.caller.userPath} ${authentication.caller.keyId}`.trim()
    : `${authentication.failure.status} ${authentication.failure.message}`;
}

t.test("the daemon isn't asked about callers that the proxy has authenticated", async (t) => {
  const told = daemon({ kind: "denied" }, { keysExist: true });
  t.equal(await said(told, authenticatedCaller("/team")), "/team");
  t.equal(await said(told, authenticatedCaller("/"), "admin"), "/");
  t.same(told.asked, []);
});

t.test(
  "a key's path is the one it is bound to, otherwise its caller's; an unknown key is a wrong token",
  async (t) => {
    const bound: AuthorizeOutcome = { kind: "authorized", userPath: "/bound", keyId: "key_1" };
    const free: AuthorizeOutcome = { kind: "authorized", userPath: "", keyId: "key_2" };
    const table: readonly (readonly [
      outcome: AuthorizeOutcome,
      caller: Caller,
      area: Area,
      said: string,
    ])[] = [
      [bound, keyCaller, "model", "/bound key_1"],
      [bound, { ...keyCaller, pathFailure }, "model", "/bound key_1"],
      [free, keyCaller, "model", "/header key_2"],
      [free, { ...keyCaller, pathFailure }, "model", "400 invalid X-Sluice-User-Path header"],
      [bound, keyCaller, "admin", "403 a managed key does not open /admin: use the master key"],
      [
        free,
        { ...keyCaller, pathFailure },
        "admin",
        "403 a managed key does not open /admin: use the master key",
      ],
      [{ kind: "denied" }, keyCaller, "model", "401 authentication failed"],
      [{ kind: "denied" }, { ...keyCaller, pathFailure }, "model", "401 authentication failed"],
      [{ kind: "denied" }, keyCaller, "admin", "401 authentication failed"],
      [{ kind: "unavailable" }, keyCaller, "model", "503 the limiter daemon does not answer"],
      [{ kind: "unavailable" }, keyCaller, "admin", "503 the limiter daemon does not answer"],
    ];
    for (const [outcome, caller, area, expected] of table) {
      // Whatever is known of other keys: this one is asked for each time.
      for (const keysExist of [null, false, true]) {
        const told = daemon(outcome, { keysExist });
        t.equal(await said(told, caller, area), expected);
        t.same(told.asked, [keyCaller.credential]);
      }
    }
  },
);

t.test(
  "a caller without credentials is accepted while there is no key; while that is unknown, the daemon is asked",
  async (t) => {
    const denied: AuthorizeOutcome = { kind: "denied" };
    const authorized: AuthorizeOutcome = { kind: "authorized", userPath: "", keyId: "" };
    t.equal(await said(daemon(denied, { keysExist: false }), nobody), "/header");
    t.equal(
      await said(daemon(denied, { keysExist: false, reachable: false }), nobody),
      "/header",
      "it was known before the daemon went",
    );
    t.equal(
      await said(daemon(authorized, { keysExist: true }), nobody),
      "401 authentication failed",
    );
    t.equal(await said(daemon(authorized), nobody), "/header");
    t.equal(await said(daemon(denied), nobody), "401 authentication failed");
    t.equal(
      await said(daemon({ kind: "unavailable" }), nobody),
      "503 the limiter daemon does not answer",
    );
    t.equal(
      await said(daemon(denied, { keysExist: false, reachable: false }), nobody, "admin"),
      "401 authentication failed",
      "an administrator's request may wait for the daemon: it is asked first",
    );
    t.equal(await said(daemon(denied, { keysExist: false }), nobody, "admin"), "/header");
    t.equal(
      await said(daemon(authorized, { keysExist: false }), { ...nobody, pathFailure }),
      "400 invalid X-Sluice-User-Path header",
    );
  },
);

t.test(
  "the caller of a limited request is checked with its admission, unless its body is too large to hold for a stranger, or the refusal is certain",
  async (t) => {
    const { limiter } = daemon({ kind: "denied" });
    const body = (length: string | null): FakeExchange =>
      new FakeExchange({
        headers: length === null ? ["Transfer-Encoding", "chunked"] : ["Content-Length", length],
      });
    t.notOk(mustAuthorizeFirst(limiter, keyCaller, body("200")));
    t.notOk(mustAuthorizeFirst(limiter, keyCaller, body(String(unauthorizedBodyBytesMax))));
    t.ok(mustAuthorizeFirst(limiter, keyCaller, body(String(unauthorizedBodyBytesMax + 1))));
    t.ok(mustAuthorizeFirst(limiter, keyCaller, body(null)), "a body of unknown size");
    t.notOk(mustAuthorizeFirst(limiter, keyCaller, new FakeExchange()), "no body at all");
    t.ok(mustAuthorizeFirst(limiter, { ...keyCaller, pathFailure }, body("200")));
    t.notOk(mustAuthorizeFirst(limiter, authenticatedCaller("/"), body(null)));
    t.notOk(mustAuthorizeFirst(limiter, nobody, body(null)));
    t.ok(
      mustAuthorizeFirst(
        daemon({ kind: "denied" }, { keysExist: true }).limiter,
        nobody,
        body("200"),
      ),
    );
    t.equal(wrongToken.status, 401);
  },
);
