import t from "tap";
import { DeniedJwts } from "../../../proxy/limiter/daemon-notices.js";
import type { JwtDenial } from "../../../shared/domain/jwt-denial.js";

const jti = (value: string, changes: Partial<JwtDenial> = {}): JwtDenial => ({
  claim: "jti",
  value,
  issuer: null,
  expiresAtMs: null,
  ...changes,
});

t.test(
  "a token is denied by its jti or sub, of one issuer or of any, until the denial expires",
  async (t) => {
    const list = new DeniedJwts();
    t.notOk(list.has({ jti: "a" }, 0));
    const denied = [
      jti("a"),
      jti("b", { issuer: "x" }),
      jti("ann", { claim: "sub", expiresAtMs: 100 }),
    ];
    list.apply({ denied, allowed: [], complete: false });
    for (const [claims, expected] of [
      [{ jti: "a" }, true],
      [{ jti: "a", iss: "anyone" }, true],
      [{ sub: "a" }, false],
      [{ jti: "b" }, false],
      [{ jti: "b", iss: "x" }, true],
      [{ jti: "b", iss: "y" }, false],
      [{ jti: "c", sub: "ann" }, true],
      [{ jti: ["a"] }, false],
      [{}, false],
    ] as const)
      t.equal(list.has(claims, 99), expected, JSON.stringify(claims));
    t.notOk(list.has({ sub: "ann" }, 100));
    list.apply({ denied: [], allowed: [jti("a")], complete: false });
    t.notOk(list.has({ jti: "a" }, 0));
  },
);

t.test("one denial is enough", async (t) => {
  const list = new DeniedJwts();
  list.apply({ denied: [jti("a")], allowed: [], complete: true });
  t.same([list.has({ jti: "a" }, 0), list.has({ jti: "b" }, 0)], [true, false]);
  list.apply({ denied: [], allowed: [jti("a")], complete: false });
  t.notOk(list.has({ jti: "a" }, 0));
});

t.test(
  "a list is kept while the daemon is away, and what the next one doesn't name is allowed",
  async (t) => {
    const list = new DeniedJwts();
    const has = (): readonly boolean[] =>
      ["a", "b", "c"].map((value) => list.has({ jti: value }, 0));
    list.onWelcome(2);
    list.apply({ denied: [jti("a"), jti("b")], allowed: [], complete: true });
    t.same(has(), [true, true, false]);
    list.onWelcome(2);
    t.same(has(), [true, true, false], "nothing is let through in between");
    list.apply({ denied: [jti("b")], allowed: [], complete: false });
    t.same(has(), [true, true, false]);
    list.apply({ denied: [jti("c")], allowed: [], complete: true });
    t.same(has(), [false, true, true]);
    list.onWelcome(0);
    t.same(has(), [false, false, false], "no list follows when there is none");
  },
);
