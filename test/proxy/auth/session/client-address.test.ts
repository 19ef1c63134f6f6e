import t from "tap";
import { clientOf, isOverTls } from "../../../../proxy/auth/session/client-address.js";
import { type Network, parseNetwork } from "../../../../shared/config/ip-network.js";
import { FakeExchange } from "../../fake-exchange.js";

const trusted: readonly Network[] = ["10.0.0.0/8", "::1"].map((text) => parseNetwork(text)!);

function from(remoteAddress: string, headers: Readonly<Record<string, string>>): FakeExchange {
  const exchange = new FakeExchange({ headers: Object.entries(headers).flat() });
  exchange.remoteAddress = remoteAddress;
  return exchange;
}

const alone = (address: string): string => clientOf(from(address, {}), []);

t.test("a client is whom trusted proxies name, and else who connects", async (t) => {
  const client = alone("203.0.113.9");
  const table: readonly (readonly [string, string, string])[] = [
    ["203.0.113.9", "", client],
    // Not trusted: what it says is its own invention.
    ["203.0.113.9", "198.51.100.1", client],
    ["10.0.0.1", "203.0.113.9", client],
    ["::ffff:10.0.0.1", "203.0.113.9", client],
    ["::1", "203.0.113.9", client],
    ["10.0.0.1", "198.51.100.1, 203.0.113.9", client],
    ["10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2", client],
    ["10.0.0.1", "junk, 203.0.113.9", client],
    ["10.0.0.1", "203.0.113.9,junk", alone("10.0.0.1")],
    ["10.0.0.1", "", alone("10.0.0.1")],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", alone("10.0.0.3")],
    ["10.0.0.1", `203.0.113.9${", 10.0.0.2".repeat(5000)}`, alone("10.0.0.2")],
    ["", "203.0.113.9", "unknown"],
  ];
  for (const [address, header, expected] of table)
    t.equal(
      clientOf(from(address, { "x-forwarded-for": header }), trusted),
      expected,
      `${address}: ${header.slice(0, 60)}`,
    );
});

t.test("only a trusted proxy says that a request came over TLS", async (t) => {
  const over = (address: string, proto: string): boolean =>
    isOverTls(from(address, { "x-forwarded-proto": proto }), trusted);
  t.equal(over("10.0.0.1", "https"), true);
  t.equal(over("10.0.0.1", "http, HTTPS "), true);
  t.equal(over("10.0.0.1", "https, http"), false);
  t.equal(over("10.0.0.1", "http"), false);
  t.equal(over("10.0.0.1", ""), false);
  t.equal(over("203.0.113.9", "https"), false);
  t.equal(over("", "https"), false);
});
