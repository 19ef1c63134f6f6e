import t from "tap";
import { arePrivate, requireHttps } from "../../../../bin/commands/prices/prices-update.js";

t.test("a source over TLS leads nowhere else, and one without is on this machine", async (t) => {
  for (const [first, next, isRefused] of [
    ["https://example.com/a", "https://example.org/b", false],
    ["https://example.com/a", "http://example.com/b", true],
    ["https://example.com/a", "http://127.0.0.1/b", true],
    ["http://127.0.0.1/a", "http://localhost/b", false],
    ["http://127.0.0.1/a", "https://example.com/b", false],
    ["http://127.0.0.1/a", "http://example.com/b", true],
    ["https://example.com/a", "file:///etc/passwd", true],
  ] as const) {
    const check = () => requireHttps(new URL(first), new URL(next));
    if (isRefused) t.throws(check, { message: /must be https/ }, `${first} ${next}`);
    else t.doesNotThrow(check, `${first} ${next}`);
  }
});

t.test("a name is private if one of its addresses is", async (t) => {
  for (const [addresses, expected] of [
    [["192.0.2.1", "2001:db8::1"], false],
    [["192.0.2.1", "10.0.0.7"], true],
    [["169.254.169.254"], true],
    [["0.0.0.0"], true],
    [["::1"], true],
    [["::"], true],
    [["::ffff:10.0.0.1"], true],
    [["fe80::1%eth0"], true],
  ] as const)
    t.equal(arePrivate(addresses), expected, addresses.join(" "));
});
