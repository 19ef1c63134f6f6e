import t from "tap";
import { parseEngineUrl } from "../../../shared/cluster/engine-url.js";

t.test("addresses of engines", async (t) => {
  const none = { username: null, password: null };
  for (const [text, expected] of [
    ["valkey://engine", { host: "engine", port: 6379, tls: false, ...none }],
    ["VALKEYS://Engine.internal:1/", { host: "Engine.internal", port: 1, tls: true, ...none }],
    ["redis://[::1]:7", { host: "::1", port: 7, tls: false, ...none }],
    ["rediss://u@h", { host: "h", port: 6379, tls: true, username: "u", password: null }],
    ["redis://:p%40%2C@h", { host: "h", port: 6379, tls: false, username: null, password: "p@," }],
  ] as const)
    t.same(parseEngineUrl(text), expected, text);
});

t.test("what is no address of an engine", async (t) => {
  for (const text of [
    "",
    "engine:6379",
    "http://engine",
    "valkey://",
    "valkey:///x",
    "valkey://h/1",
    "valkey://h?x",
    "valkey://h#",
    "valkey://h:0",
    "valkey://h:65536",
    "valkey://a b",
    "valkey://h%41",
    "valkey://:p%@h",
    "unix:///run/engine.sock",
  ])
    t.equal(parseEngineUrl(text), undefined, text);
});
