import t from "tap";
import { startErrorText } from "../../../bin/supervisor/start-error-text.js";

t.test("what the operating system refuses is told in words, with what to do", async (t) => {
  const failed = (fields: object): Error => Object.assign(new Error("listen E"), fields);
  for (const [fields, text] of [
    [
      { code: "EADDRINUSE", address: "127.0.0.1", port: 8080 },
      /^another program listens on 127\.0\.0\.1 port 8080: .*--port or PORT$/,
    ],
    [
      { code: "EADDRNOTAVAIL", address: "10.1.1.1", port: 1 },
      /^this host has no address 10\.1\.1\.1/,
    ],
    [{ code: "EACCES", address: "0.0.0.0", port: 80 }, /^permission denied for 0\.0\.0\.0 port 80/],
    [
      { code: "EAI_AGAIN", hostname: "gateway.example" },
      "the host gateway.example has no address: see server.host",
    ],
    [{ code: "EACCES" }, "listen E"],
    [{}, "listen E"],
  ] as const)
    t.match(startErrorText(failed(fields)), text);
  t.equal(startErrorText("odd"), "odd");
});
