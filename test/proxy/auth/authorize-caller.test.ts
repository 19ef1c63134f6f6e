import t from "tap";
import {
  authenticatedCaller,
  authorizeCaller,
  type Caller,
  mustAuthorizeFirst,
  wrongToken,
} from "../../../proxy/auth/caller.js";
import { MemoryLedger } from "../../../proxy/capacity/memory-ledger.js";
import type { Area } from "../../../proxy/http/match-route.js";
import type { AuthorizeOutcome } from "../../../proxy/limiter/admission.js";
import type { Limiter } from "../../../proxy/limiter/client/limiter-client.js";
import { createNotices } from "../../../proxy/limiter/daemon-notices.js";
import { administrationText, keyOfAdministration } from "../../../shared/access/admin-role.js";
import { unauthenticatedBodyMs, unauthorizedBodyBytesMax } from "../../../shared/bounds.js";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { invalid } from "../../../shared/error-code.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeCapacity } from "../fake-gateway.js";

const pathFailure = invalid("invalid X-Sluice-User-Path header");
const keyCaller: Caller = { ...authenticatedCaller("/header"), credential: hashKey("k") };
const anonymous: Caller = { ...authenticatedCaller("/header"), credential: "none" };

interface FakeDaemon {
  readonly limiter: Limiter;
  readonly checked: string[];
}

/** A daemon that gives one answer. */
function daemon(
  outcome: AuthorizeOutcome,
  { keysExist = null, reachable = true }: { keysExist?: boolean | null; reachable?: boolean } = {},
): FakeDaemon {
  const checked: string[] = [];
  const authorize = (credential: string): Promise<AuthorizeOutcome> => {
    checked.push(credential);
    return Promise.resolve(outcome);
  };
  const notices = { ...createNotices(), keysExist };
  return { limiter: { notices, reachable, authorize } as Partial<Limiter> as Limiter, checked };
}

async function resultOf(
  fake: FakeDaemon,
  caller: Caller,
  area: Area | "scrape" = "model",
): Promise<string> {
  const authentication = await authorizeCaller(fake.limiter, caller, area);
  if (!authentication.ok)
    return `${authentication.failure.status} ${authentication.failure.message}`;
  const { userPath, keyId, administers } = authentication.caller;
  const role = administers === undefined ? "" : administrationText(administers);
  return `${userPath} ${keyId} ${role}`.trim();
}

t.test("the daemon isn't checked about callers that the proxy has authenticated", async (t) => {
  const fake = daemon({ kind: "denied", ended: null }, { keysExist: true });
  t.equal(await resultOf(fake, authenticatedCaller("/team")), "/team");
  t.equal(await resultOf(fake, authenticatedCaller("/"), "admin"), "/");
  t.same(fake.checked, []);
});

t.test(
  "a key's path is the one it is bound to, otherwise its caller's; an unknown key is a wrong token",
  async (t) => {
    const bound: AuthorizeOutcome = { kind: "authorized", userPath: "/bound", keyId: "key_1" };
    const free: AuthorizeOutcome = { kind: "authorized", userPath: "", keyId: "key_2" };
    const withoutRole =
      "403 a managed key without a role does not open /admin: use the master key or a key of administration";
    const table: readonly (readonly [
      outcome: AuthorizeOutcome,
      caller: Caller,
      area: Area,
      expected: string,
    ])[] = [
      [bound, keyCaller, "model", "/bound key_1"],
      [bound, { ...keyCaller, pathFailure }, "model", "/bound key_1"],
      [free, keyCaller, "model", "/header key_2"],
      [free, { ...keyCaller, pathFailure }, "model", "400 invalid X-Sluice-User-Path header"],
      [bound, keyCaller, "admin", withoutRole],
      [free, { ...keyCaller, pathFailure }, "admin", withoutRole],
      [{ ...bound, role: "viewer" }, keyCaller, "admin", "/bound key_1 viewer of /bound"],
      [{ ...free, role: "admin" }, keyCaller, "admin", "/header key_2 admin of /"],
      [
        { ...bound, role: "admin" },
        keyCaller,
        "model",
        `403 ${keyOfAdministration("key_1").message}`,
      ],
      [{ kind: "denied", ended: null }, keyCaller, "model", "401 authentication failed"],
      [
        { kind: "denied", ended: null },
        { ...keyCaller, pathFailure },
        "model",
        "401 authentication failed",
      ],
      [{ kind: "denied", ended: null }, keyCaller, "admin", "401 authentication failed"],
      [{ kind: "unavailable" }, keyCaller, "model", "503 the limiter daemon does not answer"],
      [{ kind: "unavailable" }, keyCaller, "admin", "503 the limiter daemon does not answer"],
    ];
    for (const [outcome, caller, area, expected] of table) {
      // Whatever is known of other keys: this one is checked each time.
      for (const keysExist of [null, false, true]) {
        const fake = daemon(outcome, { keysExist });
        t.equal(await resultOf(fake, caller, area), expected);
        t.same(fake.checked, [keyCaller.credential]);
      }
    }
  },
);

t.test(
  "metrics are readable without the daemon, unless it has said that there are keys",
  async (t) => {
    const unavailable: AuthorizeOutcome = { kind: "unavailable" };
    const away = { reachable: false };
    for (const [caller, keysExist, expected] of [
      [anonymous, null, "/header"],
      [anonymous, false, "/header"],
      [anonymous, true, "401 authentication failed"],
      [keyCaller, null, "503 the limiter daemon does not answer"],
    ] as const) {
      const fake = daemon(unavailable, { ...away, keysExist });
      t.equal(await resultOf(fake, caller, "scrape"), expected, `${keysExist}`);
    }
    const denied = daemon({ kind: "denied", ended: null });
    t.equal(
      await resultOf(denied, anonymous, "scrape"),
      "401 authentication failed",
      "it is asked",
    );
  },
);

t.test(
  "a caller without credentials is accepted while there is no key; while that is unknown, the daemon is checked",
  async (t) => {
    const denied: AuthorizeOutcome = { kind: "denied", ended: null };
    const authorized: AuthorizeOutcome = { kind: "authorized", userPath: "", keyId: "" };
    t.equal(await resultOf(daemon(denied, { keysExist: false }), anonymous), "/header");
    t.equal(
      await resultOf(daemon(denied, { keysExist: false, reachable: false }), anonymous),
      "/header",
      "it was known before the daemon went",
    );
    t.equal(
      await resultOf(daemon(authorized, { keysExist: true }), anonymous),
      "401 authentication failed",
    );
    t.equal(await resultOf(daemon(authorized), anonymous), "/header");
    t.equal(await resultOf(daemon(denied), anonymous), "401 authentication failed");
    t.equal(
      await resultOf(daemon({ kind: "unavailable" }), anonymous),
      "503 the limiter daemon does not answer",
    );
    t.equal(
      await resultOf(daemon(denied, { keysExist: false, reachable: false }), anonymous, "admin"),
      "401 authentication failed",
      "an administrator's request may wait for the daemon, which decides",
    );
    t.equal(await resultOf(daemon(denied, { keysExist: false }), anonymous, "admin"), "/header");
    t.equal(
      await resultOf(daemon(authorized, { keysExist: false }), { ...anonymous, pathFailure }),
      "400 invalid X-Sluice-User-Path header",
    );
  },
);

t.test(
  "the caller of a limited request is checked with its admission, unless its body is too large to hold for a stranger, or the refusal is certain",
  async (t) => {
    const { limiter } = daemon({ kind: "denied", ended: null });
    const capacity = fakeCapacity();
    const gateway = { limiter, capacity };
    const body = (length: string | null): FakeExchange =>
      new FakeExchange({
        headers: length === null ? ["Transfer-Encoding", "chunked"] : ["Content-Length", length],
      });
    t.notOk(mustAuthorizeFirst(gateway, keyCaller, body("200")));
    t.notOk(mustAuthorizeFirst(gateway, keyCaller, body(String(unauthorizedBodyBytesMax))));
    t.ok(mustAuthorizeFirst(gateway, keyCaller, body(String(unauthorizedBodyBytesMax + 1))));
    t.ok(mustAuthorizeFirst(gateway, keyCaller, body(null)), "a body of unknown size");
    t.notOk(mustAuthorizeFirst(gateway, keyCaller, new FakeExchange()), "no body at all");
    const waits = new FakeExchange({ headers: ["Content-Length", "5", "Expect", "100-continue"] });
    t.ok(mustAuthorizeFirst(gateway, keyCaller, waits), "it asks whether its body is wanted");
    t.ok(mustAuthorizeFirst(gateway, { ...keyCaller, pathFailure }, body("200")));
    t.notOk(mustAuthorizeFirst(gateway, authenticatedCaller("/"), body(null)));
    t.notOk(mustAuthorizeFirst(gateway, anonymous, body(null)));
    t.ok(
      mustAuthorizeFirst(
        { limiter: daemon({ kind: "denied", ended: null }, { keysExist: true }).limiter, capacity },
        anonymous,
        body("200"),
      ),
    );
    t.equal(wrongToken.status, 401);
  },
);

t.test(
  "a stranger's body on its way must come soon; when there is no room for one more, the caller is checked first",
  async (t) => {
    const { limiter } = daemon({ kind: "denied", ended: null });
    const unauthenticated = new MemoryLedger(1000);
    const gateway = { limiter, capacity: { unauthenticated } };
    const onItsWay = (): FakeExchange => new FakeExchange({ headers: ["Content-Length", "600"] });
    const first = onItsWay();
    t.notOk(mustAuthorizeFirst(gateway, keyCaller, first));
    t.equal(first.awaited?.ms, unauthenticatedBodyMs);
    const second = onItsWay();
    t.ok(mustAuthorizeFirst(gateway, keyCaller, second));
    t.equal(second.awaited, null);
    t.notOk(mustAuthorizeFirst(gateway, authenticatedCaller("/"), onItsWay()), "a known caller");
    first.awaited?.then();
    t.equal(unauthenticated.held, 0);
    t.notOk(mustAuthorizeFirst(gateway, keyCaller, second));
  },
);
