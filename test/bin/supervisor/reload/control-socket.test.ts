import { writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import t from "tap";
import {
  askForReload,
  controlSocketPath,
  findControlSockets,
  listenForReloads,
  removeDeadSocket,
} from "../../../../bin/supervisor/reload/control-socket.js";
import type { ReloadOutcome } from "../../../../bin/supervisor/reload/reload-outcome.js";
import { temporaryDirectory } from "../../program-run.js";

t.test("who listens is found by its daemon's socket, asked, and answers", async (t) => {
  const directory = temporaryDirectory(t);
  const daemon = join(directory, "l.sock");
  const outcome: ReloadOutcome = { ok: false, exitCode: 78, lines: ["wrong"] };
  const path = controlSocketPath(daemon, 42, {});
  const control = await listenForReloads(path, async () => outcome);
  for (const name of ["other-reload-1.sock", "l-reload-.sock", "l-reload-1x.sock", "l-admin.sock"])
    writeFileSync(join(directory, name), "");
  t.same(findControlSockets(daemon, {}), [{ path, pid: 42 }]);
  t.same(await askForReload(path), outcome);
  const own = temporaryDirectory(t);
  const env = { ["RUNTIME_DIRECTORY"]: `${own}:/other` };
  const ofService = controlSocketPath(daemon, 43, env);
  t.equal(ofService, join(own, "l-reload-43.sock"), "systemd has made a directory for it");
  const second = await listenForReloads(ofService, async () => outcome);
  t.same(
    findControlSockets(daemon, env).map(({ pid }) => pid),
    [43, 42],
  );
  second.close();
  control.close();
  t.same(findControlSockets(daemon, {}), []);
  t.same(findControlSockets(join(directory, "nowhere", "l.sock"), {}), []);
});

t.test("a dead process's socket differs from one that ends or answers nonsense", async (t) => {
  const directory = temporaryDirectory(t);
  const at = (pid: number): string => controlSocketPath(join(directory, "l.sock"), pid, {});
  const serve = async (pid: number, answer: (socket: net.Socket) => void): Promise<void> => {
    const server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => answer(socket));
    });
    t.teardown(() => void server.close());
    await new Promise<void>((resolve) => server.listen(at(pid), resolve));
  };
  t.same(await askForReload(at(1)), { kind: "gone" });
  removeDeadSocket(at(1));
  await serve(2, (socket) => socket.destroy());
  t.match(await askForReload(at(2)), { kind: "failed", reason: /^it ended before it reported/ });
  await serve(3, (socket) => socket.end("{}\n"));
  t.match(await askForReload(at(3)), { kind: "failed", reason: /unknown to this release/ });
  await serve(4, (socket) => socket.end("nonsense\n"));
  t.match(await askForReload(at(4)), { kind: "failed", reason: /unknown to this release/ });
});

t.test("a client that asks for something else, or talks too much, is closed", async (t) => {
  const path = controlSocketPath(join(temporaryDirectory(t), "l.sock"), 1, {});
  let reloads = 0;
  const control = await listenForReloads(path, async () => {
    reloads++;
    return { ok: true, lines: [] };
  });
  t.teardown(() => control.close());
  for (const said of ['{"ask":"stop"}\n', "x".repeat(100_000)]) {
    const client = net.connect(path, () => client.write(said));
    client.on("error", () => {});
    await new Promise<void>((resolve) => client.once("close", () => resolve()));
  }
  t.equal(reloads, 0);
});
