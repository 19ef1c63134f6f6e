import t from "tap";
import {
  clientGroup,
  isInNetwork,
  parseIpAddress,
  parseNetwork,
} from "../../../shared/config/ip-network.js";

t.test("an address is read in each of its forms, and nothing else is", async (t) => {
  const same: readonly (readonly [string, string])[] = [
    ["::1", "0:0:0:0:0:0:0:1"],
    ["2001:db8::1", "2001:0DB8:0:0::0001"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::ffff:a00:1", "10.0.0.1"],
    ["::", "0:0:0:0:0:0:0:0"],
    ["1::", "1:0:0:0:0:0:0:0"],
  ];
  for (const [one, other] of same) {
    t.not(parseIpAddress(one), null, one);
    t.same(parseIpAddress(one), parseIpAddress(other), `${one} is ${other}`);
  }
  t.not(parseIpAddress("::1")!.address, parseIpAddress("::2")!.address);
  for (const wrong of [
    "",
    "localhost",
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "10.0.0.1:80",
    "[::1]",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7:8:9",
    "::1::",
    "::ffff:10.0.0.999",
    "x".repeat(100_000),
    "1".repeat(46),
  ])
    t.equal(parseIpAddress(wrong), null, wrong.slice(0, 40));
});

t.test("a network holds the addresses that begin as it does", async (t) => {
  const table: readonly (readonly [string, string, boolean])[] = [
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.1.2.3/8", "10.9.9.9", true],
    ["10.0.0.1", "10.0.0.1", true],
    ["10.0.0.1", "10.0.0.2", false],
    ["0.0.0.0/0", "203.0.113.9", true],
    ["0.0.0.0/0", "::1", false],
    ["::/0", "10.0.0.1", false],
    ["10.0.0.0/8", "::ffff:10.1.1.1", true],
    ["2001:db8::/32", "2001:db8:ffff::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["fd00::/8", "fdff::1", true],
  ];
  for (const [network, address, isIn] of table)
    t.equal(
      isInNetwork(parseIpAddress(address)!, parseNetwork(network)!),
      isIn,
      `${address} in ${network}`,
    );
  for (const wrong of [
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "::ffff:10.0.0.0/8",
    "nginx",
    "",
  ])
    t.equal(parseNetwork(wrong), null, wrong);
});

t.test("clients are distinguished by address, for IPv6 by network", async (t) => {
  const group = (text: string): string => clientGroup(parseIpAddress(text)!);
  t.equal(group("2001:db8:0:1::1"), group("2001:db8:0:1:ffff::2"));
  t.not(group("2001:db8:0:1::1"), group("2001:db8:0:2::1"));
  t.not(group("10.0.0.1"), group("10.0.0.2"));
  t.equal(group("10.0.0.1"), group("::ffff:10.0.0.1"));
  t.not(group("0.0.0.1"), group("0:0:0:1::"));
});
