/** `npm run heavy -- demo:cluster` does what it says: one limit over two hosts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import t from "tap";
import { engineProgram, noEngine } from "../../support/processes/start-engine.js";

const demo = fileURLToPath(new URL("../demo/main.js", import.meta.url));

t.test(
  "the demo of several hosts admits no more over both than the limit",
  { skip: engineProgram === null ? noEngine : false },
  async (t) => {
    const [code, output] = await playInOneHour();
    t.equal(code, 0, output);
    t.match(output, /admitted: 20 of 30 \(host-a \d+, host-b \d+\), the limit is 20/);
  },
);

/** The demo's limit is one of an hour: a run over its end is played again. */
async function playInOneHour(): Promise<readonly [code: unknown, output: string]> {
  const hour = (): number => Math.floor(Date.now() / 3_600_000);
  for (;;) {
    const began = hour();
    const played = await play();
    if (hour() === began) return played;
  }
}

async function play(): Promise<readonly [code: unknown, output: string]> {
  const child = spawn(process.execPath, [demo, "--once"], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  const [code] = await once(child, "close");
  return [code, output];
}
